"""What users say of their own classes: new names, and how older data becomes newer.

A pydantic model is stored with everything inside it as bare dicts: its own migrations see those.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from langgraph.checkpoint.serde._msgpack import SAFE_MSGPACK_TYPES
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Overwrite

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.types.classes import generic, parts

VERSION = "schema_version"
MARK = "__wyrd_version__"  # in stored fields only: the version of an object that does not say it

Name = tuple[str, str]  # module and name


@dataclass(frozen=True, slots=True)
class Migration:
    """How data of one version becomes data of the next: for a type, or for a channel.

    Data says its version itself, in a field `schema_version`; beside other data the saver stores
    the version that its migrations lead to. Data that was stored before there were any is of
    version 1. Applied on load, one migration after the other, before a value reaches the graph or
    the pillars; what is stored changes when the value is stored again, and is not migrated twice.

    Args:
        target: A class, its `"module:Name"` of today, or the name of a channel. A channel's
            payload is its value, or each element of its list.
        from_version: The version of the data that `migrate` takes.
        migrate: Takes the stored fields (a dict; of an enum's member its value; of a channel
            whatever it held) and returns those of the next version. It may change and return what
            it was given.
    """

    target: str | type
    from_version: int
    migrate: Callable[[Any], Any]

    @property
    def named(self) -> str:
        """The target, as `"module:Name"` or a channel's name."""
        if isinstance(self.target, type):
            return f"{self.target.__module__}:{self.target.__name__}"
        return self.target


Steps = dict[int, Migration]  # of a class or a channel, by the version that each starts from


@dataclass(frozen=True, slots=True)
class Marked:
    """Data with the version that was stored beside it: of a channel, or of an enum's member."""

    version: int
    value: Any
    channel: str = ""


class MigrationRaised(Exception):
    """A migration raised; the message says which."""


@dataclass(slots=True)
class Classes:
    """What a saver, and its clones, know of the user's classes. `heals`: see `on_damage`."""

    aliases: Mapping[Name, Name] = field(default_factory=dict)
    heals: bool = True
    types: dict[Name, Steps] = field(default_factory=dict)
    channels: dict[str, Steps] = field(default_factory=dict)
    logged: set[tuple[str, ...]] = field(default_factory=set)  # of which placeholders was warned
    users: frozenset[str] = frozenset()  # channels whose values belong to users
    unmarkable: str | None = None  # why no version can be stored beside a value
    brought: int = 0  # how many objects were migrated on load
    failed: deque[Marked] = field(default_factory=lambda: deque(maxlen=1000))

    @classmethod
    def of(
        cls,
        aliases: Mapping[str, str] | None = None,
        migrations: Iterable[Migration] = (),
        *,
        heals: bool = True,
        users: Iterable[str] = (),
        serde: Any = None,
    ) -> Classes:
        """From what a saver is given.

        Raises:
            InvalidInput: An alias or a migration makes no sense.
        """
        inner = serde.serde if type(serde) is EncryptedSerializer else serde
        made = cls(_aliases(aliases or {}), heals, users=frozenset(users))
        hooked = getattr(inner, "_custom_unpack_ext_hook", False)
        if inner is not None and (type(inner) is not JsonPlusSerializer or hooked):
            made.unmarkable = (
                f"{type(inner).__name__} is a serializer of your own, and no version can be stored "
                "beside what it packs"
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
        if not callable(migration.migrate) or not isinstance(target, str) or not target:
            raise InvalidInput(f"{migration!r}: needs a type or a channel, and a function")
        steps: Steps
        if ":" in target and not target.startswith("branch:to:"):
            module, name = _parsed(target, "migration")
            if (module, name) in SAFE_MSGPACK_TYPES:
                raise InvalidInput(
                    f"{target} is one of LangGraph's own types, whose data is not migrated: "
                    "register the migration for the channel that holds it"
                )
            steps = self.types.setdefault((module, parts(name)[-1]), {})
        elif target in self.users:
            raise InvalidInput(
                f"channel {target!r} belongs to a user, and can't be migrated as a whole: register "
                "the migration for the class of what it holds"
            )
        else:
            steps = self.channels.setdefault(target, {})
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

    def fields(self, name: Name, payload: Any) -> Any:
        """What is stored of an object, brought up to date."""
        steps = self.steps_of(name)
        if steps is None:
            return bare(payload)
        self.brought += _version_of(payload) in steps
        return _brought(steps, payload)

    def marked_fields(self, name: Name, payload: Any) -> Any:
        """What is about to be stored of an object, with the version of its class, if that has
        migrations."""
        steps = self.steps_of(name)
        if steps is None or not isinstance(payload, dict) or _stated(payload) is not None:
            return payload
        return {**payload, MARK: max(steps) + 1}

    # ---- values of a channel

    def value(self, channel: str, value: Any, version: int = 1) -> Any:
        """What a channel holds, or what was written to it, brought up to date."""
        steps = self.channels.get(channel)
        if steps is None:
            return bare(value)
        if type(value) is Marked:
            return self.value(channel, value.value, value.version)
        if type(value) is Overwrite:
            return Overwrite(self.value(channel, value.value, version))
        if type(value) is dict and value.keys() == {_OVERWRITE}:
            return {_OVERWRITE: self.value(channel, value[_OVERWRITE], version)}
        several = value if type(value) is list else [value]
        try:
            made = [_brought(steps, each, version) for each in several]
        except MigrationRaised:
            for each in several:  # they stay as they are, and of the version that they are
                held = each if type(each) is Marked else Marked(version, each)
                self.failed.append(Marked(held.version, deepcopy(held.value), channel))
            raise
        return made if type(value) is list else made[0]

    def marked(self, channel: str, value: Any) -> Any:
        """A value that is about to be stored, with its version where it does not say it itself."""
        steps = self.channels.get(channel)
        if steps is None or type(value) is Marked or _stated(value) is not None:
            return value
        for held in self.failed:
            if held.channel == channel and type(held.value) is type(value) and held.value == value:
                return Marked(held.version, value, channel)
        return Marked(max(steps) + 1, value, channel)


_OVERWRITE = "__overwrite__"  # how a write without LangGraph's class says so


def _stated(payload: Any) -> int | None:
    """The version that data says itself; a channel may hold an object."""
    mapped = isinstance(payload, Mapping)
    said = payload.get(VERSION) if mapped else getattr(payload, VERSION, None)
    return said if type(said) is int else None


def unmarked(value: Any) -> Any:
    """What a channel holds, without the versions that were stored beside it."""
    if type(value) is list:
        return [bare(each) for each in value]
    if type(value) is Overwrite:
        return Overwrite(unmarked(value.value))
    return unmarked(value.value) if type(value) is Marked else value


def bare(value: Any) -> Any:
    """Stored data without the versions that were stored beside it."""
    if type(value) is Marked:
        return value.value
    if type(value) is dict and type(value.get(MARK)) is int:
        return {name: each for name, each in value.items() if name != MARK}
    return value


def _version_of(payload: Any, version: int = 1) -> int:
    stated = _stated(bare(payload))
    if stated is not None:
        return stated
    if type(payload) is Marked:
        return payload.version
    mark = payload.get(MARK) if type(payload) is dict else None
    return mark if type(mark) is int else version


def _brought(steps: Steps, payload: Any, version: int = 1) -> Any:
    version, payload = _version_of(payload, version), bare(payload)
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
