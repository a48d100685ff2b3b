"""A transport that answers every request with the bytes of one file."""

import json

import httpx2


class Pieces(httpx2.SyncByteStream):
    """A body that arrives in pieces."""

    def __init__(self, pieces):
        self.pieces = pieces

    def __iter__(self):
        yield from self.pieces


def pieces(body, size):
    size = size or max(len(body), 1)
    return [body[at : at + size] for at in range(0, len(body), size)]


def answering(body, kind, piece, succeeds):
    """A client whose server answers with the body; as a failure, if the body is none that `succeeds`."""
    failed = kind == "response" and not succeeds(json.loads(body))
    headers = {"content-type": "application/json" if kind == "response" else "text/event-stream"}

    def answer(request):
        return httpx2.Response(500 if failed else 200, headers=headers, stream=Pieces(pieces(body, piece)))

    return httpx2.Client(transport=httpx2.MockTransport(answer))
