"""LlamaIndex: ChatMemoryBuffer, with one token for a message."""

from lines import load, only, plain_chat, serve, store
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import ChatMemoryBuffer


def to_llama(message):
    extra = {key: message[key] for key in ("tool_calls", "tool_call_id") if message.get(key)}
    return ChatMessage(role=message["role"], content=message.get("content") or "", additional_kwargs=extra)


def answer(question):
    only(question, ("cut",), ("openai-chat",))
    document, messages = load(question)
    # Instructions are kept outside the memory.
    system = [message for message in plain_chat(messages) if message["role"] == "system"]
    history = [to_llama(message) for message in messages if message["role"] != "system"]
    # The buffer counts the tokens of all texts, joined by a space: here each text is one word.
    words = {id(message): message.content for message in history}
    for message in history:
        message.content = message.content.replace(" ", "\u00a0") or "\u00a0"
    memory = ChatMemoryBuffer.from_defaults(
        chat_history=history,
        token_limit=question["keep"] - len(system),
        tokenizer_fn=lambda text: [word for word in text.split(" ") if not word.startswith(("{", "[", '"'))],
    )
    kept = []
    for message in memory.get():
        text = words.get(id(message), message.content.replace("\u00a0", " ").strip())
        kept.append({"role": message.role.value, "content": text, **message.additional_kwargs})
    return {"output": store(document, system + kept)}


serve("llama-index-core", answer)
