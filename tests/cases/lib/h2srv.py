"""A small HTTP/2 server (cleartext, prior knowledge) for cases; needs the package h2.

A case passes `answer(connection, stream, headers, turn)`. Every request is written to log.jsonl.
"""

import asyncio
import json
import pathlib
import sys

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.settings


class Connection:
    count = 0

    def __init__(self, reader, writer, settings, answer, log):
        Connection.count += 1
        self.number, self.reader, self.writer, self.answer, self.log = Connection.count, reader, writer, answer, log
        self.h2 = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=False, header_encoding="utf-8", validate_outbound_headers=False)
        )
        self.h2.local_settings = h2.settings.Settings(client=False, initial_values=settings)
        self.requests, self.waiters, self.closed, self.turn = {}, [], False, 0

    async def send(self):
        data = self.h2.data_to_send()
        if data:
            self.writer.write(data)
            await self.writer.drain()

    async def respond(self, stream, status=200, body=b"<title>x</title>", extra=(), trailers=None):
        self.h2.send_headers(stream, [(":status", str(status)), ("content-type", "text/html"), *extra])
        await self.send()
        while body:
            room = min(self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size, len(body))
            if room:
                self.h2.send_data(stream, body[:room])
                body = body[room:]
                await self.send()
            else:
                await asyncio.sleep(0.005)
        if trailers:
            self.h2.send_headers(stream, trailers, end_stream=True)
        else:
            self.h2.send_data(stream, b"", end_stream=True)
        await self.send()

    async def serve(self):
        self.h2.initiate_connection()
        await self.send()
        tasks = []
        try:
            while not self.closed:
                data = await self.reader.read(65536)
                if not data:
                    break
                for event in self.h2.receive_data(data):
                    if isinstance(event, h2.events.RequestReceived):
                        headers = dict(event.headers)
                        self.turn += 1
                        self.log.write(
                            json.dumps(
                                {
                                    "connection": self.number,
                                    "stream": event.stream_id,
                                    "method": headers[":method"],
                                    "path": headers[":path"],
                                    "turn": self.turn,
                                }
                            )
                            + "\n"
                        )
                        tasks.append(asyncio.ensure_future(self.answer(self, event.stream_id, headers, self.turn)))
                    elif isinstance(event, h2.events.DataReceived):
                        self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                await self.send()
        except (ConnectionError, h2.exceptions.ProtocolError) as error:
            print("server:", error, file=sys.stderr)
        finally:
            for task in tasks:
                task.cancel()
            self.writer.close()


def run(answer, settings=None):
    log = pathlib.Path("log.jsonl").open("w", buffering=1)  # noqa: SIM115 - the server writes until it is ended

    async def main():
        async def connected(reader, writer):
            await Connection(reader, writer, settings or {}, answer, log).serve()

        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        pathlib.Path("port.part").write_text(str(server.sockets[0].getsockname()[1]))
        pathlib.Path("port.part").rename("port")
        async with server:
            await server.serve_forever()

    asyncio.run(main())
