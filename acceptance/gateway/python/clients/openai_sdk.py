"""The OpenAI SDK: chat completions and responses, with its own stream helpers."""

from openai import DefaultHttpxClient, OpenAI

from seat import NEXT, PLAIN, TOOLS

# Fields that the stream helper adds and servers do not accept.
HELPER_FIELDS = {"parsed": True, "tool_calls": {"__all__": {"function": {"parsed_arguments"}}}}


def talk(context):
    return {"chat": run_chat, "responses": run_responses}[context.face](client(context), context)


def say(context):
    return [text(context, send(context, [user(PLAIN)]))]


def broken(context):
    if context.face == "chat":
        call = {"name": "weather", "arguments": '{"city":"Ulm"}'}
        calls = [{"id": "call_a", "type": "function", "function": call}]
        history = [
            user("what is the weather?"),
            {"role": "assistant", "content": None, "tool_calls": calls},
            user("never mind"),
            {"role": "assistant", "content": "As you like."},
            {"role": "tool", "tool_call_id": "call_nobody", "content": "noon"},
            user(PLAIN),
        ]
    else:
        history = [
            user("what is the weather?"),
            {"type": "function_call", "call_id": "call_a", "name": "weather", "arguments": '{"city":"Ulm"}'},
            user("never mind"),
            {"role": "assistant", "content": "As you like."},
            {"type": "function_call_output", "call_id": "call_nobody", "output": "noon"},
            user(PLAIN),
        ]
    return [text(context, send(context, history))]


def models(context):
    return sorted(model.id for model in client(context).models.list())


def client(context):
    http_client = DefaultHttpxClient(**context.hooks())
    return OpenAI(base_url=context.base, api_key=context.token, max_retries=0, http_client=http_client)


def run_chat(openai, context):
    history = [user(context.question)]
    while True:
        message = create_completion(openai, context, history).choices[0].message
        history.append(message.model_dump(exclude_none=True, exclude=HELPER_FIELDS))
        if not message.tool_calls:
            break
        for call in message.tool_calls:
            content = context.run(call.function.name, call.function.arguments)
            history.append({"role": "tool", "tool_call_id": call.id, "content": content})
    history.append(user(NEXT))
    return [message.content, create_completion(openai, context, history).choices[0].message.content]


def run_responses(openai, context):
    history = [user(context.question)]
    while True:
        response = create_response(openai, context, history)
        history += [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in response.output]
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            break
        for call in calls:
            output = context.run(call.name, call.arguments)
            history.append({"type": "function_call_output", "call_id": call.call_id, "output": output})
    history.append(user(NEXT))
    return [response.output_text, create_response(openai, context, history).output_text]


def send(context, history):
    return {"chat": create_completion, "responses": create_response}[context.face](client(context), context, history)


def create_completion(openai, context, history):
    functions = [
        {"name": name, "description": description, "parameters": parameters, "strict": True}
        for name, description, parameters in TOOLS
    ]
    request = {
        "model": context.model,
        "messages": history,
        "tools": [{"type": "function", "function": function} for function in functions],
    }
    if not context.stream:
        return openai.chat.completions.create(**request)
    with openai.chat.completions.stream(**request) as events:
        return events.get_final_completion()


def create_response(openai, context, history):
    tools = [
        {"type": "function", "name": name, "description": description, "parameters": parameters, "strict": True}
        for name, description, parameters in TOOLS
    ]
    request = {"model": context.model, "input": history, "tools": tools, "store": False}
    if not context.stream:
        return openai.responses.create(**request)
    with openai.responses.stream(**request) as events:
        return events.get_final_response()


def text(context, reply):
    return reply.choices[0].message.content if context.face == "chat" else reply.output_text


def user(content):
    return {"role": "user", "content": content}
