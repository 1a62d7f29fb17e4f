"""What all generated models share."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, PrivateAttr


class Model(BaseModel):
    """An answer of the gateway. Fields that this version does not know are kept (``model_extra``)."""

    model_config = ConfigDict(extra="allow", protected_namespaces=())

    _headers: Mapping[str, str] = PrivateAttr(default_factory=dict)

    @property
    def http_headers(self) -> Mapping[str, str]:
        """The headers of the answer, such as ``ETag`` and ``Slipbox-Revision``. Empty within another model."""
        return self._headers

    @property
    def redacted(self) -> list[str]:
        """The kinds of secrets that the gateway took out of what was written; the setting ``secrets`` decides."""
        kinds = self._headers.get("slipbox-redacted", "")
        return kinds.split(", ") if kinds else []
