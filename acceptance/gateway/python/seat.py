"""What every client is given: where the gateway is, what to ask, and two tools."""

import json

QUESTION = 'call weather with {"city":"Ulm"} and call clock with {"zone":"CET"}'
NEXT = "good night"
PLAIN = "a word with you"
THINK = "think first, then "

# Behind these names are the headers by which the gateway says what it did.
OURS = "x-foxwedge-"


class Seat:
    def __init__(self, job):
        self.model, self.stream, self.face = job["model"], job["stream"], job["face"]
        self.origin, self.token = job["base"], job["token"]
        self.base = job["base"] + "/v1"
        words = THINK + QUESTION if job["task"] == "think" else QUESTION
        self.question = f"{job['mark']}: {words}"
        self.calls, self.replies = [], []

    # Tools.

    def weather(self, city):
        self.calls.append({"name": "weather", "arguments": {"city": city}})
        return f"sunny in {city}"

    def clock(self, zone):
        self.calls.append({"name": "clock", "arguments": {"zone": zone}})
        return f"noon in {zone}"

    def run(self, name, arguments):
        """Answers a call; arguments are an object, or its text."""
        arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
        return {"weather": self.weather, "clock": self.clock}[name](**arguments)

    # What came back. The HTTP clients of the SDKs call these for every reply.

    def heard(self, response):
        headers = {name: value for name, value in response.headers.items() if name.startswith(OURS)}
        self.replies.append({"status": response.status_code, "headers": headers})

    async def heard_later(self, response):
        self.heard(response)

    def hooks(self):
        return {"event_hooks": {"response": [self.heard]}}

    def hooks_later(self):
        return {"event_hooks": {"response": [self.heard_later]}}


def schema(key):
    return {
        "type": "object",
        "properties": {key: {"type": "string"}},
        "required": [key],
        "additionalProperties": False,
    }


# Every tool with what it is for and what it takes.
TOOLS = [("weather", "Tells the weather.", schema("city")), ("clock", "Tells the time.", schema("zone"))]
