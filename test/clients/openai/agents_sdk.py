"""OpenAI's Agents SDK by its defaults: it asks for responses."""

import asyncio

from _home import KEY, URL, await_messages, create
from agents import Agent, Runner, function_tool, set_default_openai_client, set_tracing_disabled
from openai import AsyncOpenAI

create("home")
set_default_openai_client(AsyncOpenAI(base_url=URL + "/v1", api_key=KEY), use_for_tracing=False)
set_tracing_disabled(True)  # traces would be sent to OpenAI


@function_tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"sunny in {city}"


plain = Agent(name="plain", instructions="Be brief.", model="slipbox@home")
tooled = Agent(name="tooled", instructions="Use the tool.", model="slipbox@home", tools=[weather])


async def main():
    first = await Runner.run(plain, "I live in Lisbon now.")
    assert "Lisbon" in first.final_output, first
    await_messages("home", 2)
    second = await Runner.run(plain, "Where do I live?")
    assert "Lisbon" in second.final_output.split("Memory:", 1)[1], second.final_output

    used = await Runner.run(tooled, "How is the weather in Lisbon?")
    assert used.final_output == "The tool said: sunny in Lisbon", used.final_output

    streamed = Runner.run_streamed(tooled, "How is the weather in Porto?")
    deltas = [e.data.delta async for e in streamed.stream_events() if e.type == "raw_response_event" and e.data.type == "response.output_text.delta"]
    assert streamed.final_output == "".join(deltas) == "The tool said: sunny in Porto", streamed.final_output

    # A dialogue that goes on, with what the first turn answered.
    again = await Runner.run(plain, first.to_input_list() + [{"role": "user", "content": "And my boat?"}])
    assert "And my boat?" in again.final_output, again.final_output


asyncio.run(main())
