"""What goes back over the wire: every answer is JSON, and every refusal has its code."""

from http import HTTPStatus

import msgspec
from aiohttp import web

from runtime.agent.wire.messages import Answer
from runtime.agent.wire.refusals import HTTP_STATUS, ErrorBody, Refused

JSON = "application/json"
_HEADERS = {"Cache-Control": "no-store", "Server": "foresight-agent"}


def answer_response(answer: Answer) -> web.Response:
    return web.Response(body=msgspec.json.encode(answer), content_type=JSON, headers=_HEADERS)


def text_response(body: bytes, content_type: str) -> web.Response:
    return web.Response(body=body, headers={**_HEADERS, "Content-Type": content_type})


def refusal_response(refused: Refused) -> web.Response:
    return web.Response(
        status=HTTP_STATUS[refused.code], body=_body(refused), content_type=JSON, headers=_HEADERS
    )


def raw_refusal(refused: Refused) -> bytes:
    """A whole response, for a connection that never got as far as a request."""
    status, body = HTTPStatus(HTTP_STATUS[refused.code]), _body(refused)
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {JSON}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode("ascii") + body


def _body(refused: Refused) -> bytes:
    return msgspec.json.encode(ErrorBody(refused.refusal))
