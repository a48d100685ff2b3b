"""The context of every client: the gateway's address, the prompts, and two tools."""

import json

QUESTION = 'call weather with {"city":"Ulm"} and call clock with {"zone":"CET"}'
NEXT = "good night"
PLAIN = "a word with you"
THINK = "think first, then "

# The prefix of the gateway's own response headers.
HEADER_PREFIX = "x-foxwedge-"


class ClientContext:
    def __init__(self, job):
        self.model, self.stream, self.face = job["model"], job["stream"], job["face"]
        self.origin, self.token = job["base"], job["token"]
        self.base = job["base"] + "/v1"
        prompt = THINK + QUESTION if job["task"] == "think" else QUESTION
        self.question = f"{job['mark']}: {prompt}"
        self.calls, self.replies = [], []

    # Tools.

    def weather(self, city):
        self.calls.append({"name": "weather", "arguments": {"city": city}})
        return f"sunny in {city}"

    def clock(self, zone):
        self.calls.append({"name": "clock", "arguments": {"zone": zone}})
        return f"noon in {zone}"

    def run(self, name, arguments):
        """Runs a tool call. The arguments are an object, or its JSON text."""
        arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
        return {"weather": self.weather, "clock": self.clock}[name](**arguments)

    # Hooks that the HTTP clients of the SDKs call for every response.

    def record_response(self, response):
        headers = {name: value for name, value in response.headers.items() if name.startswith(HEADER_PREFIX)}
        self.replies.append({"status": response.status_code, "headers": headers})

    async def record_response_async(self, response):
        self.record_response(response)

    def hooks(self):
        return {"event_hooks": {"response": [self.record_response]}}

    def async_hooks(self):
        return {"event_hooks": {"response": [self.record_response_async]}}


def schema(key):
    return {
        "type": "object",
        "properties": {key: {"type": "string"}},
        "required": [key],
        "additionalProperties": False,
    }


# The tools, with their descriptions and parameters.
TOOLS = [("weather", "Tells the weather.", schema("city")), ("clock", "Tells the time.", schema("zone"))]
