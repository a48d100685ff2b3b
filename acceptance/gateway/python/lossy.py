"""A proxy that takes the first tool result out of every request of Gemini's API.

    python3 lossy.py http://127.0.0.1:PORT

It prints its address and serves until it is ended.
"""

import http.client
import http.server
import json
import sys
import urllib.parse

WITHHELD = {"host", "connection", "content-length", "accept-encoding", "transfer-encoding"}


def lose_result(body):
    for content in body.get("contents", []):
        for at, part in enumerate(content.get("parts", [])):
            if "functionResponse" in part:
                del content["parts"][at]
                return


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    target = ""

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        lose_result(body)
        connection = http.client.HTTPConnection(self.target, timeout=60)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in WITHHELD}
        connection.request("POST", self.path, json.dumps(body), headers)
        reply = connection.getresponse()
        data = reply.read()
        self.send_response(reply.status)
        for name, value in [("content-type", reply.getheader("content-type", "")), ("content-length", str(len(data)))]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
        connection.close()


if __name__ == "__main__":
    Handler.target = urllib.parse.urlsplit(sys.argv[1]).netloc
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    sys.stdout.close()
    server.serve_forever()
