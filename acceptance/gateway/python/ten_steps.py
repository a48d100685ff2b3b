"""Ten steps with parallel tools, by OpenAI's own client. In the middle the gateway is started anew."""

import json
import sys

from openai import OpenAI

STEPS = 10


def client(base):
    return OpenAI(base_url=base + "/v1", api_key=sys.argv[2], max_retries=0, timeout=120)


def tool(name):
    parameters = {"type": "object", "properties": {"n": {"type": "integer"}}}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def ask(api, messages, step):
    """Asks, whole or as a stream; the message as it is kept, and why it ended."""
    tools = [tool("look"), tool("count"), tool("weigh")]
    request = {"model": "agent", "messages": messages, "tools": tools}
    if step % 2 == 0:
        choice = api.chat.completions.create(**request).choices[0]
        message, finish = choice.message, choice.finish_reason
    else:
        with api.chat.completions.stream(**request) as stream:
            stream.until_done()
            choice = stream.get_final_completion().choices[0]
        message, finish = choice.message, choice.finish_reason
    kept = {"role": "assistant", "content": message.content}
    calls = message.tool_calls or []
    if calls:
        kept["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.function.name, "arguments": call.function.arguments},
            }
            for call in calls
        ]
    return kept, calls, finish


def check(right, what):
    if not right:
        sys.exit(what)


def main():
    api, messages = client(sys.argv[1]), []
    for step in range(STEPS):
        wanted = [("look", {"n": step}), ("count", {"n": step + 1}), ("weigh", {"n": step + 2})]
        prompt = " and ".join(f"mcp__client__{name} with {json.dumps(n)}" for name, n in wanted)
        messages.append({"role": "user", "content": "call " + prompt})
        kept, calls, finish = ask(api, messages, step)
        messages.append(kept)
        found = [(call.function.name, json.loads(call.function.arguments)) for call in calls]
        check(found == wanted and finish == "tool_calls", f"step {step}: {found} {finish}")
        if step == STEPS // 2:
            print("restart", flush=True)
            api = client(sys.stdin.readline().strip())
        for call in reversed(calls):
            answer = f"{call.function.name} {step}"
            messages.append({"role": "tool", "tool_call_id": call.id, "content": answer})
        kept, calls, finish = ask(api, messages, step)
        messages.append(kept)
        said = f"The tools said: look {step} | count {step} | weigh {step}"
        check(kept["content"] == said and not calls and finish == "stop", f"step {step}: {kept}")
    print("done", flush=True)


main()
