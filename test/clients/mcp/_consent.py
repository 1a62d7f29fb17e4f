"""A browser's part of the consent: opens the page, fills in the form, and returns where the browser is sent."""

import html
import os
import re
from urllib.parse import parse_qs, urlsplit

import httpx2

KEY = os.environ["SLIPBOX_API_KEY"]


async def allow(address: str, user: str, access: str = "write") -> dict[str, str]:
    origin = "{0.scheme}://{0.netloc}".format(urlsplit(address))
    async with httpx2.AsyncClient(timeout=300) as browser:
        page = await browser.get(address)
        assert page.status_code == 200, page.text
        nonce = html.unescape(re.search(r'name="nonce" value="([^"]+)"', page.text)[1])
        form = {"nonce": nonce, "decision": "allow", "key": KEY, "whose": "user", "user": user, "access": access}
        sent = await browser.post(address, data=form, headers={"Origin": origin})
        assert sent.status_code == 303, (sent.status_code, sent.text)
        return {name: values[0] for name, values in parse_qs(urlsplit(sent.headers["location"]).query).items()}
