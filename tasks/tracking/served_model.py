"""A model folder as MLflow serves it. MLflow copies this file beside the folder and runs it where it loads the model.

It is code, not a pickle: nothing runs at loading but what stands here and in transformer/, which is copied along.
"""

from typing import Any

from mlflow.models import set_model
from mlflow.pyfunc import PythonModel

from transformer.parsing.parser import Parser
from transformer.translator import Translator


class ServedModel(PythonModel):  # type: ignore[misc]
    """Translates or parses lists of lines: `{"inputs": ["A sentence."]}` posted to /invocations."""

    def load_context(self, context: Any) -> None:
        """Read the model folder among the artifacts; InputError as `Translator.load`."""
        self._translator = Translator.load(context.artifacts["model"])

    def predict(self, context: Any, model_input: list[str]) -> list[str]:
        """The translation of each line, or its tree in brackets. MLflow checks requests against these types."""
        if self._translator.config.text.trees:
            return [parsed.text for parsed in Parser(self._translator).parse_text(model_input)]
        return self._translator.translate(model_input)


set_model(ServedModel())
