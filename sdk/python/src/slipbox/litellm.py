"""For LiteLLM: ``SlipboxCallback`` lets each model behind LiteLLM remember, in a program and in its proxy."""

from collections.abc import Callable
from typing import Any

from litellm.integrations.custom_logger import CustomLogger

from slipbox import AsyncSlipbox, External, NotFound, SlipboxError
from slipbox._items import text_of
from slipbox._prompt import OPEN, told, without_memory
from slipbox._wire import CollectionRef
from slipbox.requests import MessageInput

#: Says which collection a request has; with None nothing is recalled and stored.
Whose = Callable[[dict[str, Any]], CollectionRef | None]


def by_user(request: dict[str, Any]) -> CollectionRef | None:
    """Returns the memory of the user that a request names, as OpenAI's clients do: ``user="nora@example.com"``."""
    user = request.get("user") or (request.get("optional_params") or {}).get("user")
    return External(user=str(user)) if user else None


class SlipboxCallback(CustomLogger):
    """Puts what is remembered behind the last question of a prompt, and stores each exchange after its answer.

    ``litellm.callbacks = [SlipboxCallback(client)]``, and then ``await litellm.acompletion(…, user="nora")``. LiteLLM
    asks no callback before a call that is not asynchronous. In the proxy it is
    ``litellm_settings: {callbacks: my_module.memory}``, and my_module has ``memory = SlipboxCallback(AsyncSlipbox())``.

    With create, a policy, the collection of an application's ids is made on first use. A gateway that is away does not
    keep the model from answering: the error is passed to failed. What was answered with memories in the prompt is
    marked, so that it is not learned again.
    """

    def __init__(
        self,
        client: AsyncSlipbox,
        *,
        whose: Whose = by_user,
        create: str | None = "mem0",
        token_budget: int = 800,
        failed: Callable[[SlipboxError], None] | None = None,
    ) -> None:
        super().__init__()
        self._client = client
        self._whose = whose
        self._create = create
        self._budget = token_budget
        self._failed = failed or (lambda _: None)
        # The calls under way whose prompt has memories: what is logged is the prompt before.
        self._recalled: set[str] = set()

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> dict[str, Any] | None:
        """Puts what is remembered into the prompt of a chat."""
        collection, messages = self._whose(kwargs), kwargs.get("messages")
        at = _last_question(messages)
        if collection is None or at is None or not messages:
            return kwargs
        query = text_of(messages[at].get("content"))
        if OPEN in query or not query.strip():
            return kwargs
        try:
            text = (await self._client.build_context(collection, query=query[:60_000], token_budget=self._budget)).text
        except NotFound:
            # Nobody has said anything yet.
            return kwargs
        except SlipboxError as error:
            self._failed(error)
            return kwargs
        if not text:
            return kwargs
        self._recalled.add(_call(kwargs))
        asked = messages[at] | {"content": _behind(messages[at]["content"], told(text))}
        return kwargs | {"messages": [*messages[:at], asked, *messages[at + 1 :]]}

    async def async_log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        """Stores question and answer."""
        recalled = _call(kwargs) in self._recalled
        self._recalled.discard(_call(kwargs))
        collection, messages = self._whose(kwargs), kwargs.get("messages")
        at = _last_question(messages)
        answer = _answer(kwargs.get("async_complete_streaming_response") or response_obj)
        if collection is None or at is None or not answer:
            return
        shown = text_of(messages[at].get("content"))
        question = without_memory(shown)
        exchange: list[MessageInput] = [
            {"role": "user", "content": question},
            {"role": "assistant", "content": answer, "recalled": recalled or OPEN in shown},
        ]
        try:
            if question:
                await self._client.add_messages(collection, messages=exchange, create=self._create)
        except SlipboxError as error:
            self._failed(error)

    async def async_log_failure_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        """Stores nothing: half an answer is none."""
        self._recalled.discard(_call(kwargs))


def _call(kwargs: dict[str, Any]) -> str:
    """Returns the id of a call."""
    return str(kwargs.get("litellm_call_id") or getattr(kwargs.get("litellm_logging_obj"), "litellm_call_id", ""))


def _last_question(messages: Any) -> int | None:
    """Returns where the last message of the user is; None where there is none."""
    if not isinstance(messages, list):
        return None
    return next((at for at in reversed(range(len(messages))) if messages[at].get("role") == "user"), None)


def _behind(content: Any, block: str) -> Any:
    """Returns a content with a text behind it."""
    return [*content, {"type": "text", "text": block}] if isinstance(content, list) else f"{content}\n\n{block}"


def _answer(response: Any) -> str:
    """Returns what a model answered; "" where it calls a tool, or nobody chats."""
    choices = getattr(response, "choices", None)
    message = getattr(choices[0], "message", None) if choices else None
    return getattr(message, "content", None) or ""
