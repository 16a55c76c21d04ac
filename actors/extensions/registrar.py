"""What an extension is given: its options, ways to register, and the ledger of holds."""

from collections.abc import Mapping

from actors.spending.holds import RequestHook
from actors.spending.ledger import Ledger
from actors.spending.registrations import DenialTranslator, Disposer, Registrations
from actors.spending.reporting import UsageReporter


class Registrar:
    """Registers on behalf of one extension, and can take all of it back."""

    def __init__(
        self, options: Mapping[str, str], registrations: Registrations, ledger: Ledger
    ) -> None:
        self.options = options
        """What the configuration tells the extension."""
        self.ledger = ledger
        """Holds that all processes agree on."""
        self._registrations = registrations
        self._disposers: list[Disposer] = []

    def usage_reporter(self, reporter: UsageReporter) -> Disposer:
        """As `Registrations.register_usage_reporter`."""
        return self._kept(self._registrations.register_usage_reporter(reporter))

    def denial_translator(self, translator: DenialTranslator) -> Disposer:
        """As `Registrations.register_denial_translator`."""
        return self._kept(self._registrations.register_denial_translator(translator))

    def request_hook(self, hook: RequestHook, *, fail_open: bool = True) -> Disposer:
        """As `Registrations.register_request_hook`."""
        return self._kept(self._registrations.register_request_hook(hook, fail_open=fail_open))

    def dispose(self) -> None:
        """Take back all that was registered."""
        for dispose in self._disposers:
            dispose()

    def _kept(self, disposer: Disposer) -> Disposer:
        self._disposers.append(disposer)
        return disposer
