"""A transport that returns the bytes of one file for every request."""

import json

import httpx2


class ChunkedStream(httpx2.SyncByteStream):
    """A body that arrives in chunks."""

    def __init__(self, chunks):
        self.chunks = chunks

    def __iter__(self):
        yield from self.chunks


def chunks(body, size):
    size = size or max(len(body), 1)
    return [body[at : at + size] for at in range(0, len(body), size)]


def fake_client(body, kind, chunk_size, succeeds):
    """A client whose server responds with the body, with status 500 unless `succeeds` accepts it."""
    is_error = kind == "response" and not succeeds(json.loads(body))
    headers = {"content-type": "application/json" if kind == "response" else "text/event-stream"}

    def respond(request):
        stream = ChunkedStream(chunks(body, chunk_size))
        return httpx2.Response(500 if is_error else 200, headers=headers, stream=stream)

    return httpx2.Client(transport=httpx2.MockTransport(respond))
