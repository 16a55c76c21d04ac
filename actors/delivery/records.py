"""The words in which the sender records an attempt and its outcome; pure."""

from hashlib import sha256

from actors.ports import NotPosted, Posted, SendRequest
from events.delivery import Receipt, SendAttempt, SendFailed


def attempt_of(
    request: SendRequest, ordinal: int, *, lock_ms: float, ready: float | NotPosted, sender: str
) -> SendAttempt:
    """Return the promise to post what is asked for, by the way that its draft names."""
    draft = request.draft
    hook = draft.hook
    return SendAttempt(
        attempt=ordinal,
        flush=request.flush,
        piece=request.piece,
        part=request.part,
        purpose=request.purpose,
        route="bot" if hook is None else "webhook",
        channel_id=draft.channel_id,
        content=draft.content or (draft.card.text if draft.card else ""),
        identity=None if hook is None else hook.name,
        reply_to=draft.reply_to,
        attachments=tuple(sha256(file.data).hexdigest() for file in draft.files),
        buttons=tuple(button.custom_id for button in draft.buttons),
        pacing_ms=request.pacing_ms,
        lock_ms=lock_ms,
        rate_limit_ms=ready.ms if isinstance(ready, NotPosted) else ready,
        sender=sender,
        prefix=draft.prefix,
        webhook_id=None if hook is None else hook.webhook_id,
    )


def outcome_event(
    request: SendRequest, attempt: SendAttempt, outcome: Posted | NotPosted
) -> Receipt | SendFailed:
    """Return the one outcome of an attempt."""
    if isinstance(outcome, NotPosted):
        return SendFailed(
            attempt=attempt.attempt,
            outcome=outcome.outcome,
            reason=outcome.reason,
            code=outcome.code,
            http_status=outcome.http_status,
            ms=outcome.ms,
            tries=outcome.tries,
        )
    hook, voice = request.draft.hook, request.voice
    shown = None if hook is None else voice
    return Receipt(
        attempt=attempt.attempt,
        message_id=outcome.message_id,
        destination_id=outcome.channel_id,
        route=attempt.route,
        webhook_id=attempt.webhook_id,
        identity=attempt.identity,
        speaker_kind="bot" if shown is None else shown.kind,
        sprite=None if shown is None else shown.sprite,
        ms=outcome.ms,
        tries=outcome.tries,
        persona=None if shown is None else shown.persona,
        is_generic=hook is not None and hook.is_generic,
    )
