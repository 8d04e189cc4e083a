"""Ask the detector library whether a piece of text is a secret; imported only when needed."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Protocol

    class _Detector(Protocol):
        def analyze_string(self, string: str) -> Iterable[str]: ...


#: The shortest run any token shape of the library has; ids, times and words are shorter or
#: plainly something else, and then the library need not be imported at all.
_CANDIDATE = re.compile(r"[A-Za-z0-9_\-./+=:]{16,}|-----BEGIN")
_HARMLESS = re.compile(
    r"[0-9]+|[0-9T:Z.-]{16,24}|[a-z]+|[a-z]+:[\w.-]+/[\w.-]+(?:/[\w.-]+)?#[0-9]+"
    r"|https://[\w.:-]+(?:/[\w.-]+)*(?:#[\w-]{0,40})?"
)


#: Keys whose values a person would call a secret; the library's own judge then decides.
_TELLING = re.compile(
    r"passw|pwd|secret|token|api_?key|auth|credential|private_?key", re.IGNORECASE
)
#: Shapes the library does not know yet, beside its own.
_NEWER = re.compile(r"\bsk-(?:ant|proj|or|live)[-_][A-Za-z0-9_-]{16,}")


def is_secret(text: str, key: str = "") -> bool:
    """Whether a token detector recognises something in ``text``, found under ``key`` (HF202)."""
    named = bool(text) and _TELLING.search(key) is not None
    if not named and (not _CANDIDATE.search(text) or _HARMLESS.fullmatch(text)):
        return False
    if _NEWER.search(text) or any(any(d.analyze_string(text)) for d in _detectors()):
        return True
    return named and any(_by_name().analyze_string(f'{key} = "{text}"'))


@cache
def _detectors() -> Sequence[_Detector]:
    # Detectors of token shapes only: the entropy and keyword ones take any comment id for a
    # secret, and a guard that cries wolf is switched off.
    from detect_secrets.plugins import (
        artifactory,
        aws,
        azure_storage_key,
        basic_auth,
        discord,
        github_token,
        gitlab_token,
        jwt,
        mailchimp,
        npm,
        openai,
        private_key,
        pypi_token,
        sendgrid,
        slack,
        square_oauth,
        stripe,
        telegram_token,
        twilio,
    )

    return (
        artifactory.ArtifactoryDetector(),
        aws.AWSKeyDetector(),
        azure_storage_key.AzureStorageKeyDetector(),
        basic_auth.BasicAuthDetector(),
        discord.DiscordBotTokenDetector(),
        github_token.GitHubTokenDetector(),
        gitlab_token.GitLabTokenDetector(),
        jwt.JwtTokenDetector(),
        mailchimp.MailchimpDetector(),
        npm.NpmDetector(),
        openai.OpenAIDetector(),
        private_key.PrivateKeyDetector(),
        pypi_token.PypiTokenDetector(),
        sendgrid.SendGridDetector(),
        slack.SlackDetector(),
        square_oauth.SquareOAuthDetector(),
        stripe.StripeDetector(),
        telegram_token.TelegramBotTokenDetector(),
        twilio.TwilioKeyDetector(),
    )


@cache
def _by_name() -> _Detector:
    from detect_secrets.plugins import keyword

    judge: _Detector = keyword.KeywordDetector()
    return judge
