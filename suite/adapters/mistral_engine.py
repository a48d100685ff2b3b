"""mistral-common: the validator of version 11 in Mistral's own package, for serving."""

from lines import load, only, plain_chat, serve
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.validator import MistralRequestValidatorV11, ValidationMode


def answer(question):
    only(question, ("validate",), ("mistral",))
    _, messages = load(question)
    messages = [{key: value for key, value in m.items() if value is not None} for m in plain_chat(messages)]
    try:
        request = ChatCompletionRequest.from_openai(messages=messages, model="mistral-large-latest")
        MistralRequestValidatorV11(mode=ValidationMode.serving).validate_request(request)
        return {"valid": True}
    except Exception:
        return {"valid": False}


serve("mistral-common", answer)
