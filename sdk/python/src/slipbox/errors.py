"""What calls raise. Everything here is a SlipboxError."""

from collections.abc import Mapping

from slipbox.models import Problem


class SlipboxError(Exception):
    """A call failed."""


class ConnectionFailed(SlipboxError):
    """The gateway was not reached, did not answer in time, or its answer broke off."""


class ProblemError(SlipboxError):
    """The gateway refused a request or failed, with the problem document that it sent (RFC 9457).

    An answer without one, such as that of a proxy, has the code ``unknown``.
    """

    def __init__(self, problem: Problem, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(str(problem))
        self.problem = problem
        self.headers: Mapping[str, str] = headers or {}

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.problem.status

    @property
    def code(self) -> str:
        """The stable code for programs, such as ``not_found``."""
        return self.problem.code

    def __str__(self) -> str:
        p = self.problem
        text = p.detail or p.title
        said = [f"{e.field}: {e.reason}" for e in p.errors or []]
        fields = "; ".join(s for s in said if s not in text)  # the first is often the detail
        return f"{p.status} {p.code}: {text}" + (f" ({fields})" if fields else "") + f" [request {p.request_id}]"


class NotFound(ProblemError):
    """404: absent, or it belongs to another."""


class Conflict(ProblemError):
    """409: the state does not allow it, or it exists already."""


class Invalid(ProblemError):
    """422: well-formed but refused; ``problem.errors`` names the fields."""


class TooManyRequests(ProblemError):
    """429: over a limit, after all retries."""


BY_STATUS: dict[int, type[ProblemError]] = {404: NotFound, 409: Conflict, 422: Invalid, 429: TooManyRequests}
