import subprocess
import sys
import uuid

from flows.processes import end_processes, marked, marked_environment

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"


def _start(mark: str, code: str, **options: bool) -> "subprocess.Popen[bytes]":
    environment = marked_environment("TEST_MARK", mark)
    process = subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, **options)
    assert process.stdout and process.stdout.readline()
    return process


def test_ends_what_bears_the_mark_and_nothing_else() -> None:
    mark, other = uuid.uuid4().hex, uuid.uuid4().hex
    stubborn = _start(mark, STUBBORN, start_new_session=True)
    bystander = _start(other, STUBBORN)
    assert [process.pid for process in marked("TEST_MARK", mark)] == [stubborn.pid]
    end_processes(lambda: marked("TEST_MARK", mark), grace=0.3)
    assert stubborn.wait(240) == -9
    assert bystander.poll() is None
    bystander.kill()
    bystander.wait()


def test_leaves_time_to_end_well() -> None:
    mark = uuid.uuid4().hex
    code = (
        "import signal, sys, time; signal.signal(15, lambda *_: (time.sleep(0.5), sys.exit(7)));"
        "print(flush=True); time.sleep(600)"
    )
    process = _start(mark, code)
    end_processes(lambda: marked("TEST_MARK", mark), grace=120.0)
    assert process.wait(240) == 7  # and the exit code is still there for whoever started it
