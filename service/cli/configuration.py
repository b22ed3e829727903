from pydantic import ValidationError

from service.cli.failures import UsageError
from service.settings import Settings


def load_settings() -> Settings:
    """Read the settings; a wrong one is named with what it may be."""
    try:
        return Settings()
    except ValidationError as error:
        found = [
            f"TPSWEEP_{'_'.join(str(part) for part in item['loc']).upper()}: {item['msg']}, "
            f"not {item['input']!r}"
            for item in error.errors(include_url=False)
        ]
        raise UsageError("a setting is wrong", *found) from error
