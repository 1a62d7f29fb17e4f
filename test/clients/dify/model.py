"""Dify's model provider "OpenAI-API-compatible", by the class that it is made of, with what docs/nocode.md says to fill in."""

import os
import time

import dify_plugin  # first: it patches sockets
import requests
from dify_plugin.entities.model.message import (
    AssistantPromptMessage,
    ImagePromptMessageContent,
    PromptMessageTool,
    SystemPromptMessage,
    TextPromptMessageContent,
    ToolPromptMessage,
    UserPromptMessage,
)
from dify_plugin.errors.model import CredentialsValidateFailedError
from dify_plugin.interfaces.model.openai_compatible.llm import OAICompatLargeLanguageModel
from dify_plugin.interfaces.model.openai_compatible.text_embedding import OAICompatEmbeddingModel

URL, KEY = os.environ["SLIPBOX_URL"], os.environ["SLIPBOX_API_KEY"]
MODEL = "slipbox@user=nora@example.com"
FILLED_IN = {"endpoint_url": URL + "/v1", "api_key": KEY, "mode": "chat", "function_calling_type": "tool_call", "stream_function_calling": "supported"}


def http(method, path, **more):
    return requests.request(method, URL + path, headers={"Authorization": "Bearer " + KEY}, timeout=300, **more)


def await_messages(count):
    """Waits until the person's memory has so many messages: an exchange is stored after its answer is sent."""
    end = time.monotonic() + 120
    while len(said := http("GET", "/v1/collections/by/messages", params={"user": "nora@example.com"}).json()["items"]) < count:
        assert time.monotonic() < end, said
        time.sleep(0.02)
    return said


class Model(OAICompatLargeLanguageModel):
    def _invoke(self, model, credentials, prompt_messages, model_parameters, tools=None, stop=None, stream=True, user=None):
        if stream:  # The provider asks for it at this point. Otherwise tokens are counted by a vocabulary that is fetched.
            model_parameters["stream_options"] = {"include_usage": True}
        return super()._invoke(model, credentials, prompt_messages, model_parameters, tools, stop, stream, user)


llm = Model([])
# What the parameters of the model are in a new application.
PARAMETERS = {"temperature": 0.7, "top_p": 1.0, "frequency_penalty": 0.0, "presence_penalty": 0.0, "max_tokens": 512}


def ask(messages, stream=True, tools=None):
    return llm.invoke(MODEL, dict(FILLED_IN), list(messages), dict(PARAMETERS), tools, ["\nHuman:"] if tools else None, stream, "b7a9c4e2")


def text(chunks):
    return "".join(c.delta.message.content for c in chunks)


# Saving the model: it is refused where the memory does not exist, with what to do, and where the key is wrong.
try:
    llm.validate_credentials(MODEL, FILLED_IN)
    raise AssertionError("a memory that does not exist was taken")
except CredentialsValidateFailedError as e:
    assert "404" in str(e) and "nora@example.com" in str(e), e
http("POST", "/v1/collections", json={"name": "nora", "policy": "none", "external": {"user": "nora@example.com"}}).raise_for_status()
for stream in ("use", "not_use"):
    llm.validate_credentials(MODEL, {**FILLED_IN, "stream_mode_auth": stream})
try:
    llm.validate_credentials(MODEL, {**FILLED_IN, "api_key": "sb_live_wrong"})
    raise AssertionError("a wrong key was taken")
except CredentialsValidateFailedError as e:
    assert "401" in str(e), e
assert llm.get_customizable_model_schema(MODEL, FILLED_IN).model == MODEL

# A chat: streamed, with the usage of the answer, then out of memory in another conversation.
system = SystemPromptMessage(content="Be brief.")
before = len(await_messages(0))
chunks = list(ask([system, UserPromptMessage(content="I live in Lisbon now.")]))
assert text(chunks).startswith("You said: I live in Lisbon now."), chunks
assert chunks[-1].delta.finish_reason == "stop" and chunks[-1].delta.usage.total_tokens > 0, chunks[-1]
await_messages(before + 2)
[whole] = ask([system, UserPromptMessage(content="Where do I live?")], stream=False)
assert "Lisbon" in text([whole]).split("Memory:", 1)[1] and whole.delta.usage.prompt_tokens > 0, whole

# The application's memory of a conversation, and a file beside a question.
again = list(ask([
    system, UserPromptMessage(content="Where do I live?"), AssistantPromptMessage(content=text([whole])),
    UserPromptMessage(content=[
        TextPromptMessageContent(data="What is this?"), ImagePromptMessageContent(format="png", mime_type="image/png", base64_data="iVBORw0KGgo="),
    ]),
]))
assert text(again).startswith("You said: What is this?"), again

# An agent of the application: function calls, streamed and not, and the tools' answers.
weather = PromptMessageTool(name="weather", description="The weather in a city.", parameters={
    "type": "object", "properties": {"city": {"type": "string", "description": "where"}}, "required": ["city"],
})
question = UserPromptMessage(content="How is the weather in Lisbon?")
for stream in (True, False):
    [calls] = [c.delta.message.tool_calls for c in ask([system, question], stream, [weather]) if c.delta.message.tool_calls]
    assert len(calls) == 1, calls
    assert (calls[0].type, calls[0].function.name, calls[0].function.arguments) == ("function", "weather", '{"city":"Lisbon"}'), calls
    told = ask([
        system, question, AssistantPromptMessage(content="", tool_calls=calls),
        ToolPromptMessage(content="sunny", tool_call_id=calls[0].id, name="weather"),
    ], tools=[weather])
    assert text(told) == "The tool said: sunny"

# The embeddings of a knowledge base. Its count of tokens is left out: it fetches a vocabulary.
embedder = OAICompatEmbeddingModel([])
embedder._get_num_tokens_by_gpt2 = lambda text: len(text.split())
embedder.validate_credentials("slipbox", {**FILLED_IN, "context_size": "512"})
vectors = embedder.invoke("slipbox", {**FILLED_IN, "context_size": "512"}, ["a ferry", "a boat", "a tax"], "b7a9c4e2").embeddings
assert len(vectors) == 3 and len(vectors[0]) == len(vectors[2]) > 0, [len(v) for v in vectors]
