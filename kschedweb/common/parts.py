"""Between two parts of an answer everything else in the process has its turn.

Django sends the parts of an answer one after the other, and uvicorn waits only where the connection is full: without a
turn in between nobody sees that the client is gone, and all parts are written to a closed socket.
"""

import asyncio

from kschedweb.common.asgi import Application, Message, Receive, Scope, Send


class Parts:
    """An HTTP application in front of another."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_part(message: Message) -> None:
            await send(message)
            if message.get("more_body"):
                await asyncio.sleep(0)

        await self._application(scope, receive, send_part)
