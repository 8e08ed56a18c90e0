"""A small HTTP/1.1 server for cases. It sends raw bytes and writes every request to log.jsonl.

A case passes `answer(request) -> bytes | None`, or a coroutine. A request has method, target, head (bytes), headers
(list of pairs, lower-case names), body, peer (address), connection (number) and turn (number on the connection).
None closes the connection without an answer.
"""

import asyncio
import inspect
import json
import pathlib
import types


def page(body=b"ok", status="200 OK", kind="text/html; charset=utf-8", extra=""):
    body = body.encode() if isinstance(body, str) else body
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
    return head.encode() + body


async def _body(reader, headers):
    fields = dict(headers)
    if "content-length" in fields:
        return await reader.readexactly(int(fields["content-length"]))
    if fields.get("transfer-encoding", "").lower() == "chunked":
        out = b""
        while size := int((await reader.readline()).split(b";")[0], 16):
            out += await reader.readexactly(size)
            await reader.readline()
        await reader.readline()
        return out
    return b""


def run(answer, host="127.0.0.1", port=0, context=None, reads_body=True, log="log.jsonl"):
    pathlib.Path(log).write_text("")
    out = pathlib.Path(log).open("a", buffering=1)  # noqa: SIM115 - the server writes until it is ended
    count = [0]

    async def connection(reader, writer):
        count[0] += 1
        number, turn = count[0], 0
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                turn += 1
                first, *lines = head.decode("latin-1").rstrip().split("\r\n")
                headers = [(n.strip().lower(), v.strip()) for n, _, v in (line.partition(":") for line in lines)]
                method, target, *_ = first.split(" ")
                peer = writer.get_extra_info("peername")[0]
                body = await _body(reader, headers) if reads_body else b""
                request = types.SimpleNamespace(
                    method=method,
                    target=target,
                    head=head,
                    headers=headers,
                    body=body,
                    peer=peer,
                    connection=number,
                    turn=turn,
                    reader=reader,
                    writer=writer,
                )
                out.write(
                    json.dumps(
                        {
                            "method": method,
                            "target": target,
                            "headers": headers,
                            "peer": peer,
                            "body": body[:2000].decode("latin-1"),
                            "connection": number,
                            "turn": turn,
                        }
                    )
                    + "\n"
                )
                response = answer(request)
                response = await response if inspect.isawaitable(response) else response
                if response is None:
                    break
                writer.write(response)
                await writer.drain()
                if b"connection: close" in response[:2000].lower() or ("connection", "close") in headers:
                    break
        except (asyncio.IncompleteReadError, ConnectionError, ValueError):
            pass
        finally:
            writer.close()

    async def main():
        server = await asyncio.start_server(
            connection, host, port, ssl=context, limit=1 << 26 if reads_body else 1 << 16
        )
        at = server.sockets[0].getsockname()[1]
        pathlib.Path("port.part").write_text(str(at))
        pathlib.Path("port.part").rename("port")
        async with server:
            await server.serve_forever()

    asyncio.run(main())


def log(path="log.jsonl"):
    return [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
