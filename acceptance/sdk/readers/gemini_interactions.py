"""Interactions, parsed by the Google SDK."""


from . import normal
from .gemini import client

STOPS = {"completed": "end", "requires_action": "calls", "incomplete": "length"}


def response(body, reader, chunk_size):
    result = client(body, "response", chunk_size).interactions.create(model="any", input="any")
    check_type(result, reader)
    return summarize(result, result.steps or [])


def stream(body, reader, chunk_size):
    events = client(body, "stream", chunk_size).interactions.create(model="any", input="any", stream=True)
    last, steps = None, {}
    for event in events:
        check_type(event, reader)
        if event.event_type == "error":
            raise normal.Failed(event.error.message if event.error else "no reason")
        if event.event_type in ("interaction.created", "interaction.completed"):
            last = event.interaction
        elif event.event_type == "step.start":
            steps[event.index] = StreamedStep(event.step)
        elif event.event_type == "step.delta":
            steps[event.index].add(event.delta)
        elif event.event_type == "step.stop":
            steps[event.index].is_complete = True
    return summarize(last, [steps[index] for index in sorted(steps)])


def check_type(value, reader):
    """The SDK keeps what does not fit its types as values of unknown type."""
    if reader != "strict":
        return
    if type(value).__name__.startswith("Unknown"):
        raise TypeError(f"no type for {value}")
    inner = value if isinstance(value, list) else vars(value).values() if hasattr(value, "model_fields_set") else []
    for it in inner:
        check_type(it, reader)


class StreamedStep:
    """A step that is put together from its deltas."""

    def __init__(self, step):
        self.type = step.type
        self.id, self.name = getattr(step, "id", None), getattr(step, "name", None)
        self.content = list(getattr(step, "content", None) or [])
        self.summary = list(getattr(step, "summary", None) or [])
        self.pieces = []
        self.is_complete = False
        self.first_arguments = getattr(step, "arguments", None)

    def add(self, delta):
        if delta.type == "text":
            self.content.append(delta)
        elif delta.type == "thought_summary":
            self.summary.append(delta.content)
        elif delta.type == "arguments_delta":
            self.pieces.append(delta.arguments)

    @property
    def arguments(self):
        if not self.is_complete:
            return "".join(self.pieces)
        return normal.parse_arguments("".join(self.pieces)) if self.pieces else self.first_arguments or {}


def summarize(interaction, steps):
    text = texts(block for step in steps if step.type == "model_output" for block in step.content or [])
    reasoning = texts(block for step in steps if step.type == "thought" for block in step.summary or [])
    calls = [normal.call(step.id, step.name, step.arguments) for step in steps if step.type == "function_call"]
    stop = STOPS.get(interaction.status, interaction.status)
    usage = interaction.usage
    usage = usage and normal.token_usage(usage.total_input_tokens, output_tokens(usage))
    stop = None if stop == "in_progress" else stop
    return normal.summary(text, reasoning, calls, stop, usage, interaction.id, interaction.model)


def texts(blocks):
    return "".join(block.text for block in blocks if getattr(block, "text", None))


def output_tokens(usage):
    return (usage.total_output_tokens or 0) + (usage.total_thought_tokens or 0)
