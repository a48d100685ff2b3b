"""Google's SDK: contents, whole and as a stream."""

from urllib.parse import quote

from google import genai
from google.genai import types

from seat import NEXT, PLAIN, TOOLS


def talk(context):
    google = client(context)
    history = [user(context.question)]
    while True:
        content = send(google, context, history)
        history.append(content)
        calls = [part.function_call for part in content.parts if part.function_call]
        if not calls:
            break
        results = [
            types.Part(
                function_response=types.FunctionResponse(
                    id=call.id, name=call.name, response={"output": context.run(call.name, call.args)}
                )
            )
            for call in calls
        ]
        history.append(types.Content(role="user", parts=results))
    history.append(user(NEXT))
    return [text(content), text(send(google, context, history))]


def say(context):
    return [text(send(client(context), context, [user(PLAIN)]))]


def broken(context):
    call = types.Part(function_call=types.FunctionCall(name="weather", args={"city": "Ulm"}))
    result = types.Part(function_response=types.FunctionResponse(name="nobody", response={"output": "noon"}))
    history = [
        user("what is the weather?"),
        types.Content(role="model", parts=[call]),
        user("never mind"),
        types.Content(role="model", parts=[types.Part(text="As you like.")]),
        types.Content(role="user", parts=[result, types.Part(text=PLAIN)]),
    ]
    return [text(send(client(context), context, history))]


def models(context):
    # A client that nobody holds is closed.
    google = client(context)
    names = [model.name for model in google.models.list()]
    return sorted(name.removeprefix("models/") for name in names)


def count(context):
    google = client(context)
    tokens = google.models.count_tokens(model=model(context), contents=[user(PLAIN)])
    return [str(tokens.total_tokens)]


def client(context):
    options = types.HttpOptions(
        base_url=context.origin,
        client_args=context.hooks(),
        retry_options=types.HttpRetryOptions(attempts=1),
    )
    return genai.Client(api_key=context.token, http_options=options)


def model(context):
    """Returns the name of the model for a path."""
    return quote(context.model, safe="-.")


def send(google, context, history):
    tools = [
        {"name": name, "description": description, "parameters_json_schema": parameters}
        for name, description, parameters in TOOLS
    ]
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=tools)],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    request = {"model": model(context), "contents": history, "config": config}
    if not context.stream:
        return google.models.generate_content(**request).candidates[0].content
    parts = []
    for chunk in google.models.generate_content_stream(**request):
        for candidate in chunk.candidates or []:
            parts.extend(candidate.content.parts or [] if candidate.content else [])
    return types.Content(role="model", parts=parts)


def text(content):
    return "".join(part.text or "" for part in content.parts if not part.thought)


def user(words):
    return types.Content(role="user", parts=[types.Part(text=words)])
