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
