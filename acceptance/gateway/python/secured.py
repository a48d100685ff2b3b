"""A provider in a company: its certificate is from a private authority, and it asks clients for one.

    python3 secured.py FOLDER

It writes `ca.pem`, `client.pem` and `client.key` into the folder, prints its address, and serves chats until it is ended.
"""

import datetime
import http.server
import json
import pathlib
import ssl
import sys

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


def make_certificate(name, issuer=None, extensions=()):
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = x509.CertificateBuilder().subject_name(subject).public_key(key.public_key())
    builder = builder.issuer_name(issuer[0].subject if issuer else subject).serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=1))
    builder = builder.add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    return builder.sign(issuer[1] if issuer else key, hashes.SHA256()), key


def write(folder, name, certificate, key=None):
    (folder / f"{name}.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    if key:
        plain = serialization.NoEncryption()
        text = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
        path = folder / f"{name}.key"
        path.touch(mode=0o600)
        path.write_bytes(text)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        subject = dict(field[0] for field in self.connection.getpeercert()["subject"])
        message = {"role": "assistant", "content": f"hello, {subject['commonName']}"}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        reply = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": choices}
        body = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main():
    folder = pathlib.Path(sys.argv[1])
    authority = make_certificate("Private Authority")
    names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
    server = make_certificate("localhost", authority, [names, x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])])
    client = make_certificate("gateway", authority, [x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])])
    write(folder, "ca", authority[0])
    write(folder, "server", *server)
    write(folder, "client", *client)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem", folder / "server.key")
    context.load_verify_locations(folder / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    # A client that breaks off is one of the cases.
    listener.handle_error = lambda *_: None
    # The handshake happens in the thread of the connection.
    listener.socket = context.wrap_socket(listener.socket, server_side=True, do_handshake_on_connect=False)
    print(f"localhost:{listener.server_port}", flush=True)
    sys.stdout.close()
    listener.serve_forever()


if __name__ == "__main__":
    main()
