"""What users say of their own classes: new names, and how older data becomes newer.

A pydantic model is stored with everything inside it as bare dicts: its own migrations see those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from langgraph.checkpoint.serde._msgpack import SAFE_MSGPACK_TYPES
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.types.classes import generic, parts

VERSION = "schema_version"
MARK = "__wyrd_version__"  # in stored fields only: the version of an object that does not say it

Name = tuple[str, str]  # module and name


@dataclass(frozen=True, slots=True)
class Migration:
    """How data of a class of one version becomes data of the next.

    Data says its version itself, in a field `schema_version`; with other data the saver stores
    the version that its migrations lead to. Data that was stored before there were any is of
    version 1. Applied on load, one migration after the other, before a value reaches the graph or
    the pillars; what is stored changes when the value is stored again, and is not migrated twice.

    Args:
        target: A class, or its `"module:Name"` of today.
        from_version: The version of the data that `migrate` takes.
        migrate: Takes the stored fields (a dict; of an enum's member its value) and returns those
            of the next version. It may change and return what it was given.
    """

    target: str | type
    from_version: int
    migrate: Callable[[Any], Any]

    @property
    def named(self) -> str:
        """The target, as `"module:Name"`."""
        if isinstance(self.target, type):
            return f"{self.target.__module__}:{self.target.__name__}"
        return self.target


Steps = dict[int, Migration]  # of a class, by the version that each starts from


class MigrationRaised(Exception):
    """A migration raised; the message says which."""


@dataclass(slots=True)
class Classes:
    """What a saver, and its clones, know of the user's classes. `heals`: see `on_damage`."""

    aliases: Mapping[Name, Name] = field(default_factory=dict)
    heals: bool = True
    types: dict[Name, Steps] = field(default_factory=dict)
    logged: set[tuple[str, ...]] = field(default_factory=set)  # of which placeholders was warned
    unmarkable: str | None = None  # why no version can be stored with a value
    brought: int = 0  # how many objects were migrated on load

    @classmethod
    def of(
        cls,
        aliases: Mapping[str, str] | None = None,
        migrations: Iterable[Migration] = (),
        *,
        heals: bool = True,
        serde: Any = None,
    ) -> Classes:
        """From what a saver is given.

        Raises:
            InvalidInput: An alias or a migration makes no sense.
        """
        inner, is_langgraphs = inside(serde)
        made = cls(_aliases(aliases or {}), heals)
        if inner is not None and not is_langgraphs:
            made.unmarkable = (
                f"{type(inner).__name__} is a serializer of your own, and no version can be stored "
                "with what it packs"
            )
        for migration in migrations:
            made.register(migration)
        return made

    def register(self, migration: Migration) -> None:
        if not isinstance(migration, Migration):
            raise InvalidInput(f"migrations takes Migration(…) objects, not {migration!r}")
        if self.unmarkable is not None:
            raise InvalidInput(f"{migration.target!r} can't be migrated: {self.unmarkable}")
        version, target = migration.from_version, migration.named
        if type(version) is not int or version < 1:
            raise InvalidInput(f"from_version={version!r}: versions are whole numbers from 1")
        if not callable(migration.migrate):
            raise InvalidInput(f"{migration!r}: needs a class and a function")
        module, name = _parsed(target, "migration")
        if (module, name) in SAFE_MSGPACK_TYPES:
            raise InvalidInput(
                f"{target} is one of LangGraph's own types, whose data is not migrated"
            )
        steps = self.types.setdefault((module, parts(name)[-1]), {})
        if version in steps and steps[version].migrate is not migration.migrate:
            raise InvalidInput(f"there are two migrations of {target} from version {version}")
        steps[version] = migration

    # ---- values of a class

    def target(self, module: str, name: str) -> Name | None:
        """Where the user says that a stored class is now."""
        found = self.aliases.get((module, name))
        if found is None and (plain := generic(name)) != name:  # Box[int], where Box has moved
            moved = self.aliases.get((module, plain))
            return moved and (moved[0], moved[1] + name[len(plain) :])
        return found

    def steps_of(self, name: Name) -> Steps | None:
        """The migrations of a class."""
        return self.types.get(name) or self.types.get((name[0], generic(name[1])))

    def fields(self, name: Name, payload: Any, version: int | None = None) -> Any:
        """The payload of an object after its migrations; `version`: the one it was stored with."""
        steps = self.steps_of(name)
        if steps is None:
            return bare(payload)
        version = _version_of(payload) if version is None else version
        self.brought += version in steps
        return _brought(steps, bare(payload), version)

    def marked_fields(self, name: Name, payload: Any) -> Any:
        """What is about to be stored of an object, with the version of its class, if that has
        migrations."""
        steps = self.steps_of(name)
        if steps is None or not isinstance(payload, dict) or _stated(payload) is not None:
            return payload
        return {**payload, MARK: max(steps) + 1}


def inside(serde: Any) -> tuple[Any, bool]:
    """The serializer within an encrypting one, or itself; and whether it is LangGraph's own: with a
    hook of the user's, nobody knows what loading gives."""
    inner = serde.serde if type(serde) is EncryptedSerializer else serde
    hooked = getattr(inner, "_custom_unpack_ext_hook", False)
    return inner, type(inner) is JsonPlusSerializer and not hooked


def _stated(payload: Any) -> int | None:
    """The version that data says itself."""
    said = payload.get(VERSION) if isinstance(payload, Mapping) else None
    return said if type(said) is int else None


def bare(value: Any) -> Any:
    """Stored data without the versions that were stored with it."""
    if type(value) is dict and type(value.get(MARK)) is int:
        return {name: each for name, each in value.items() if name != MARK}
    return value


def _version_of(payload: Any) -> int:
    stated = _stated(payload)
    mark = payload.get(MARK) if stated is None and type(payload) is dict else stated
    return mark if type(mark) is int else 1


def _brought(steps: Steps, payload: Any, version: int) -> Any:
    while (step := steps.get(version)) is not None:
        try:
            # A copy: one that raises half-way leaves the data as it is stored.
            payload = step.migrate(deepcopy(payload))
        except Exception as error:
            raise MigrationRaised(
                f"the migration of {step.named} from version {version} raised "
                f"{type(error).__name__}"
            ) from error
        version = max(version + 1, _stated(payload) or 0)
        if isinstance(payload, dict) and VERSION in payload:
            payload[VERSION] = version
    return payload


# ---- names


def _aliases(given: Mapping[str, str]) -> dict[Name, Name]:
    if not isinstance(given, Mapping):
        raise InvalidInput(f"aliases={given!r}: a dict of 'old.module:Name' -> 'new.module:Name'")
    made: dict[Name, Name] = {}
    inner: dict[Name, Name] = {}
    for old, new in given.items():
        (old_module, old_name), target = _parsed(old, "alias"), _parsed(new, "alias")
        # Only the last part of a nested class's name is stored.
        key = (old_module, parts(old_name)[-1])
        if made.get(key, target) != target:
            raise InvalidInput(
                f"alias {old!r}: another one names {key[0]}:{key[1]} as well (of a nested class "
                "only its own name is stored, so the two can't be told apart)"
            )
        made[key] = target
        inner[target[0], parts(target[1])[-1]] = target  # so it is stored from now on
    for key in made:
        seen, now = {key}, made[key]
        while now in made and now != made[now]:
            if now in seen:
                raise InvalidInput(f"aliases go round in a circle at {key[0]}:{key[1]}")
            seen.add(now)
            now = made[now]
        made[key] = now
    return {**inner, **made}


def _parsed(text: object, what: str) -> Name:
    if isinstance(text, str):
        module, colon, name = text.partition(":")
        plain = generic(name)
        words = [*module.split("."), *plain.split(".")]
        ends = plain == name or name.endswith("]")
        if colon and ends and all(word.isidentifier() for word in words):
            return module, name
    raise InvalidInput(f'{what} {text!r}: write "package.module:Name"')
