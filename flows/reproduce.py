"""The flow `reproduce-paper`: one Prefect task for each stage of dvc.yaml that the experiments need.

    python -m flows.reproduce tiny              # everything that tiny's scores need, then the tables
    python -m flows.reproduce tiny multi30k     # both; one training after another (flows/slots.py)
    python -m flows.reproduce 'table3-tiny-*'   # all that are named so

What is up to date is skipped, so that the same command continues after a failure, a Ctrl-C or a power cut. Exit
codes: 0 all done, 1 a stage failed, 2 something given is wrong. Needs no Prefect server; where PREFECT_API_URL names
one, the run is seen there.
"""

import argparse
import logging
import shlex
import signal
import sys
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NoReturn
from uuid import uuid4

import httpx
from prefect import flow, get_run_logger, runtime, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.futures import PrefectFuture
from prefect.states import Completed, Failed
from prefect.task_runners import ThreadPoolTaskRunner

from flows.errors import BadInput, StageError, files_as_input
from flows.failures import clear_failures, note_failure
from flows.log_format import plain_logging
from flows.plan import out_of_date, read_plan
from flows.processes import end_processes, marked
from flows.progress import VARIABLE, artifact_key, watched
from flows.server import NoServer, check_proxies, server
from flows.slots import Slots, number_of_slots, share
from flows.stage import MARK, SECONDS_TO_SAVE, Run, check_input, run_stage
from flows.waiting import waiting

# Prefect's states, tasks and runs are generic in ways that say nothing here.
State = Any


def _try_again(_task: Any, _task_run: Any, state: State) -> bool:
    error = state.result(raise_on_failure=False)
    return not (isinstance(error, StageError) and (error.is_bad_input or error.stopped or error.repeated))


@task(cache_policy=NO_CACHE, retries=2, retry_delay_seconds=5, retry_condition_fn=_try_again)
def bring_up_to_date(stage: str, run: Run, environment: dict[str, str]) -> None:
    """One stage; its output is the task's log, and what it says of its progress an artifact."""
    with watched(stage) as progress:

        def log(line: str) -> None:
            get_run_logger().info(line)
            progress.look()  # a stage that goes on says so, at least every ten seconds

        try:
            with files_as_input():
                run_stage(stage, log, run, **environment, **{VARIABLE: str(progress.file)})
        except BadInput as error:
            raise StageError(stage, 2, [f"error: {error}"]) from None
        except StageError as error:
            run.note(error)
            if error.repeated:
                log("it failed twice with the same error, so it is not tried again")
            raise


def _end_stages(flow: Any, flow_run: Any, state: State) -> None:
    """For a flow that was killed before it could do so; called by the worker then."""
    end_processes(lambda: marked(MARK, str(flow_run.id)), SECONDS_TO_SAVE)


@flow(
    name="reproduce-paper",
    task_runner=ThreadPoolTaskRunner(),  # type: ignore[arg-type]
    on_cancellation=[_end_stages],
    on_crashed=[_end_stages],
)
def reproduce_paper(experiments: list[str]) -> State:
    """Run what the experiments need, then what reads their scores; show the tables as artifacts.

    What fails stops nothing that does not need it.
    """
    run, log = Run(id=str(runtime.flow_run.id)), get_run_logger().info
    try:
        with files_as_input():
            slots = number_of_slots()
            check_input(experiments, log, run)
            plan = read_plan(experiments, log)
            states = _run_stages(plan.needed, plan.in_slots, plan.ends, slots, run)
            states |= _run_stages(plan.downstream, set(), {}, slots, run)
            _show(plan.tables)
    except BadInput as error:
        return Failed(name="BadInput", message=str(error))
    finally:
        with waiting(log, "waiting for what still runs to end; a training saves first"):
            run.end()
    return _outcome(states, len(plan.needed | plan.downstream), experiments)


def _run_stages(
    stages: dict[str, list[str]], in_slots: set[str], ends: dict[str, list[str]], slots: int, run: Run
) -> dict[str, State]:
    """Run what is out of date, each stage as soon as those that it reads from are done and there is room for it.

    What keeps the `ends` from being done is noted when it happens: tables that are redrawn meanwhile have it.
    The states of all that was out of date; None of what did not run, because something before it failed.
    """
    stale = out_of_date(stages, get_run_logger().info)
    if len(stale) < len(stages):
        get_run_logger().info(f"{len(stages) - len(stale)} of {len(stages)} stages are up to date")
    done = stages.keys() - stale
    clear_failures(ends, done)
    left = Slots({name: inputs for name, inputs in stages.items() if name in stale}, in_slots, slots)
    futures: dict[str, PrefectFuture[None]] = {}
    ended: SimpleQueue[PrefectFuture[None]] = SimpleQueue()
    while True:
        for name in left.start():
            named = bring_up_to_date.with_options(name=name, task_run_name=name)
            slot = left.running[name]
            environment = {} if slot is None else share(slot, slots)
            before = [futures[one] for one in stages[name] if one in futures]  # which are done; Prefect draws them
            futures[name] = named.submit(name, run, environment, wait_for=before, return_state=False)
            futures[name].add_done_callback(ended.put)
        if not left.running:
            return {name: futures[name].state if name in futures else None for name in stages if name in stale}
        future = ended.get()
        future.wait()  # its state is known then without asking the server
        name = next(name for name in left.running if futures[name] is future)
        left.end(name, _completed(future.state))
        for error in _errors({name: future.state}).values():
            note_failure(ends, error)
        if _completed(future.state):
            done.add(name)
            clear_failures(ends, done)


def _completed(state: State) -> bool:
    return state is not None and state.is_completed()


def _errors(states: dict[str, State]) -> dict[str, StageError]:
    results = {
        name: state.result(raise_on_failure=False) for name, state in states.items() if state and state.is_failed()
    }
    return {name: one for name, one in results.items() if isinstance(one, StageError)}


def _show(tables: list[Path]) -> None:
    for table in filter(Path.exists, tables):
        text = table.read_text(encoding="utf-8")
        create_markdown_artifact(text, key=artifact_key(table.stem), description=table.name)


def _outcome(states: dict[str, State], stages: int, experiments: list[str]) -> State:
    failed = [name for name, state in states.items() if not _completed(state)]
    errors = list(_errors(states).values())
    if not failed:
        return Completed(message=f"{stages} stages are up to date")
    if errors and all(error.is_bad_input for error in errors):
        return Failed(name="BadInput", message="; ".join(f"{error.stage}: {error.cause}" for error in errors))
    causes = [f"{error.stage} failed with exit code {error.exit_code} ({error.cause})" for error in errors]
    waiting = sum(states[name] is None for name in failed)
    if waiting:
        causes.append(f"{waiting} {'stages that need' if waiting > 1 else 'stage that needs'} it did not run")
    return Failed(
        message=f"{'; '.join(causes) or ', '.join(failed) + ' did not run'}. What a stage wrote is in its task's log; "
        f"`python -m flows.reproduce {shlex.join(experiments)}` continues from there"
    )


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m flows.reproduce",
        description="Bring the scores of experiments up to date, with all that they need, and redraw the tables.",
        epilog="Example: python -m flows.reproduce tiny 'table3-tiny-*'",
    )
    parser.add_argument(
        "experiments", nargs="+", metavar="EXPERIMENT", help="a key of `experiments` in params.yaml, or a shell pattern"
    )
    experiments = parser.parse_args().experiments
    plain_logging()
    for ending in (signal.SIGTERM, signal.SIGHUP):  # end as after Ctrl-C, or the temporary server would stay behind
        signal.signal(ending, _exit)
    try:
        with files_as_input():
            check_proxies()
            check_input(experiments, logging.getLogger("prefect.flow_runs.check").debug, Run(id=str(uuid4())))
            read_plan(experiments)
            number_of_slots()
    except BadInput as error:
        return _complain(str(error), 2)
    except StageError as error:
        return _complain(f"{error}: {error.cause}", 1)
    try:
        with files_as_input(), server():
            state: State = reproduce_paper(experiments, return_state=True)
    except BadInput as error:
        return _complain(str(error), 2)
    except (NoServer, httpx.TransportError) as error:
        return _complain(f"{error or type(error).__name__} (Prefect's server); the same command continues from here", 1)
    except KeyboardInterrupt:
        return _complain("stopped; the same command continues from here", 130)
    if state.is_completed():
        return 0
    return _complain(state.message, 2 if state.name == "BadInput" else 1)


def _exit(number: int, _frame: Any) -> NoReturn:
    sys.exit(128 + number)


def _complain(message: str, code: int) -> int:
    print(f"error: {message}", file=sys.stderr, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
