"""What requests used, by the chunks of their answers: heard live, or read again after a crash.

An answer counts however it ended: stopped, killed, timed out or broken off, what its provider had
reported by then was spent. A request whose process was lost between hearing of usage and recording
it is owed its report by whoever takes the turn over.
"""

from collections.abc import Iterator, Mapping, Sequence

from events.base import Event
from events.generation import Chunk, RequestOpened, Usage
from events.spending import UsageReport


class Accounting:
    """Listens to the chunks of one request."""

    def __init__(self, request: int, provider: str, model: str) -> None:
        self._request = request
        self._provider = provider
        self._model = model
        self._usage: Usage | None = None
        self._response_id: str | None = None
        self._serving: str | None = None

    @property
    def cost_pico(self) -> int | None:
        """What the provider says that it costs so far, in 10**-12 US dollars; None: unknown."""
        return None if self._usage is None else self._usage.cost_pico

    def take(self, chunk: Chunk) -> None:
        """Hear a chunk; providers report running totals, so that later usage replaces earlier."""
        self._usage = chunk.usage or self._usage
        self._response_id = self._response_id or chunk.response_id
        self._serving = self._serving or chunk.serving_provider

    def report(self) -> UsageReport | None:
        """Return the report; None where the provider told nothing."""
        usage = self._usage
        if usage is None:
            return None
        return UsageReport(
            request=self._request,
            provider=self._provider,
            model=self._model,
            measurement="measured",
            response_id=self._response_id,
            serving_provider=self._serving,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            reasoning_tokens=usage.reasoning_tokens,
            cost_pico=usage.cost_pico,
        )


def owed_reports(
    events: Sequence[Event], chunks: Mapping[int, Sequence[Chunk]]
) -> Iterator[UsageReport]:
    """Yield the reports that a turn's stream lacks, in the order of its requests.

    Args:
        events: The stream, oldest first.
        chunks: What each request's recorded payloads mean.
    """
    reported = {event.request for event in events if isinstance(event, UsageReport)}
    for event in events:
        if isinstance(event, RequestOpened) and event.request not in reported:
            accounting = Accounting(event.request, event.provider, event.model)
            for chunk in chunks.get(event.request, ()):
                accounting.take(chunk)
            report = accounting.report()
            if report is not None:
                yield report
