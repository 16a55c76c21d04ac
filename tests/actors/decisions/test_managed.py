"""Models that somebody else pays for: whose key is asked for, and what happens without it."""

from typing import Literal

from structlog.testing import capture_logs

from actors.decisions.models import (
    Credential,
    DecisionModel,
    DecisionScope,
    load_decision_models,
)
from actors.decisions.results import Completed, Denied, Unavailable
from actors.spending.denials import RequestDeniedError
from tests.actors.decisions.asking import SERVER, Asker, body, registered
from tests.actors.gate.outside import Outside, response

PAYER_KEY = "sk-of-the-payer"


class Payer:
    """Pays, as far as a test lets it."""

    def __init__(
        self,
        *,
        admits: bool = True,
        validates: bool = True,
        denial: RequestDeniedError | None = None,
    ) -> None:
        self._admits = admits
        self._validates = validates
        self._denial = denial
        self.asked: list[tuple[str, str]] = []

    async def admits(self, scope: DecisionScope) -> bool:
        """Return whether it pays for `scope`."""
        return self._admits and scope == SERVER

    def validates(self, model: DecisionModel) -> bool:
        """Return whether it pays for this model."""
        return self._validates and bool(model.codename)

    async def resolve_credentials(
        self,
        scope: DecisionScope,  # noqa: ARG002 - as the port has it
        slot: str,
        capability: Literal["decision"],
    ) -> Credential | None:
        """Return its key.

        Raises:
            RequestDeniedError: Where the test says so.
        """
        self.asked.append((slot, capability))
        if self._denial is not None:
            raise self._denial
        return Credential(api_key=PAYER_KEY, context=self)


class Owners:
    """Who owns which slot."""

    def __init__(self, payer: Payer | None) -> None:
        self.payer = payer

    def owner(self, scope: DecisionScope, slot: str) -> Payer | None:  # noqa: ARG002 - a port
        """Return the one payer there is."""
        return self.payer


async def never() -> str:
    """Fail: nobody may read the saved key."""
    raise AssertionError("a saved key was read")


async def test_d8_the_payers_own_key_is_used_for_the_asked_slot() -> None:
    """Whoever pays for a checker is not whoever pays for decisions."""
    payer = Payer()
    async with Outside(response(200, body())) as outside:
        row = registered(f"http://gw.example:{outside.port}", is_managed=True, read_key=never)
        async with Asker(row, payers=Owners(payer)) as asker:
            result = await asker.ask(slot="nudge-checker")

        assert isinstance(result, Completed)
        assert payer.asked == [("nudge-checker", "decision")]
        assert f"Authorization: Bearer {PAYER_KEY}" in outside.heads[0]


async def test_td28_when_the_payer_is_gone_no_saved_key_is_tried() -> None:
    """It would charge somebody who never agreed."""
    owners = Owners(Payer())
    async with Outside() as outside:
        row = registered(f"http://gw.example:{outside.port}", is_managed=True, read_key=never)
        async with Asker(row, payers=owners) as asker:
            offered = await load_decision_models(asker.catalog, owners, SERVER)
            owners.payer = None
            with capture_logs() as logs:
                result = await asker.ask(reference=offered[0].reference)

        assert result == Unavailable(correlation="c1", reason="payer-unavailable")
        assert [line["log_level"] for line in logs] == ["info"]
        assert outside.connections == 0


async def test_d3_a_menu_offers_what_is_admitted_and_validated_both() -> None:
    """A menu never offers what a call refuses."""
    row = registered("http://gw.example", is_managed=True, read_key=never)
    for payer in (None, Payer(admits=False), Payer(validates=False)):
        async with Asker(row, payers=Owners(payer)) as asker:
            offered = await load_decision_models(asker.catalog, Owners(payer), SERVER)

            assert offered == []
            assert isinstance(await asker.ask(), Unavailable)


async def test_row_8_a_payer_that_denies_while_its_key_is_resolved_denies() -> None:
    """Whose the request is, is not known yet; the denial can only be the asker's."""
    denial = RequestDeniedError(Payer(), "budget_reached")
    row = registered("http://gw.example", is_managed=True, read_key=never)
    async with Asker(row, payers=Owners(Payer(denial=denial))) as asker:
        result = await asker.ask()

    assert isinstance(result, Denied)
    assert result.denial is denial
