"""What users say of their own classes: new names, and how older data becomes newer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from langgraph.checkpoint.serde._msgpack import SAFE_MSGPACK_TYPES
from langgraph.types import Overwrite

from langgraph_wyrd.errors import InvalidInput
from langgraph_wyrd.types.finding import generic, parts

VERSION = "schema_version"

Name = tuple[str, str]  # module and name
Payload = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Migration:
    """How data of one version becomes data of the next: for a type, or for a channel.

    Data says its version itself, in a field `schema_version`; data without one is of version 1.
    Applied on load, one migration after the other, before a value reaches the graph or the
    pillars. What is stored changes when the value is stored again.

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


class MigrationRaised(Exception):
    """A migration raised; the message says which."""


@dataclass(slots=True)
class Classes:
    """What a saver, and its clones, know of the user's classes. `heals`: see `on_damage`."""

    aliases: Mapping[Name, Name] = field(default_factory=dict)
    heals: bool = True
    types: dict[Name, dict[int, Migration]] = field(default_factory=dict)
    channels: dict[str, dict[int, Migration]] = field(default_factory=dict)
    told: set[tuple[str, ...]] = field(default_factory=set)  # of which placeholders was warned
    users: frozenset[str] = frozenset()  # channels whose values belong to users

    @classmethod
    def of(
        cls,
        aliases: Mapping[str, str] | None = None,
        migrations: Iterable[Migration] = (),
        *,
        heals: bool = True,
        users: Iterable[str] = (),
    ) -> Classes:
        """From what a saver is given.

        Raises:
            InvalidInput: An alias or a migration makes no sense.
        """
        made = cls(_aliases(aliases or {}), heals, users=frozenset(users))
        for migration in migrations:
            made.register(migration)
        return made

    def register(self, migration: Migration) -> None:
        if not isinstance(migration, Migration):
            raise InvalidInput(f"migrations takes Migration(…) objects, not {migration!r}")
        version, target = migration.from_version, migration.named
        if type(version) is not int or version < 1:
            raise InvalidInput(f"from_version={version!r}: versions are whole numbers from 1")
        if not callable(migration.migrate) or not isinstance(target, str) or not target:
            raise InvalidInput(f"{migration!r}: needs a type or a channel, and a function")
        steps: dict[int, Migration]
        if ":" in target and not target.startswith("branch:to:"):
            module, name = _parsed(target, "migration")
            if (module, name) in SAFE_MSGPACK_TYPES:
                raise InvalidInput(
                    f"{target} is one of LangGraph's own types, whose data is not migrated: "
                    "register the migration for the channel that holds it"
                )
            steps = self.types.setdefault((module, _last(name)), {})
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

    def target(self, module: str, name: str) -> Name | None:
        """Where the user says that a stored class is now."""
        found = self.aliases.get((module, name))
        if found is None and (plain := generic(name)) != name:  # Box[int], where Box has moved
            moved = self.aliases.get((module, plain))
            return moved and (moved[0], moved[1] + name[len(plain) :])
        return found

    def fields(self, name: Name, payload: Any) -> Any:
        """What is stored of an object, brought up to date."""
        steps = self.types.get(name) or self.types.get((name[0], generic(name[1])))
        return payload if steps is None else _brought(steps, payload)

    def value(self, channel: str, value: Any) -> Any:
        """What a channel holds, or what was written to it, brought up to date."""
        steps = self.channels.get(channel)
        if steps is None:
            return value
        if type(value) is Overwrite:
            return Overwrite(self.value(channel, value.value))
        if type(value) is dict and value.keys() == {_OVERWRITE}:
            return {_OVERWRITE: self.value(channel, value[_OVERWRITE])}
        if type(value) is list:
            return [_brought(steps, each) for each in value]
        return _brought(steps, value)


_OVERWRITE = "__overwrite__"  # how a write without LangGraph's class says so


def _version(payload: Any) -> Any:
    if isinstance(payload, Mapping):
        return payload.get(VERSION)
    return getattr(payload, VERSION, None)  # a channel may hold an object


def _brought(steps: dict[int, Migration], payload: Any) -> Any:
    stated = _version(payload)
    version = stated if type(stated) is int else 1
    while (step := steps.get(version)) is not None:
        try:
            # A copy: one that raises half-way leaves the data as it is stored.
            payload = step.migrate(deepcopy(payload))
        except Exception as error:
            raise MigrationRaised(
                f"the migration of {step.named} from version {version} raised "
                f"{type(error).__name__}"
            ) from error
        version += 1
        stated = _version(payload)
        if type(stated) is int and stated > version:
            version = stated
        elif isinstance(payload, dict) and VERSION in payload:
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
        key = (old_module, _last(old_name))
        if made.get(key, target) != target:
            raise InvalidInput(
                f"alias {old!r}: another one names {key[0]}:{key[1]} as well (of a nested class "
                "only its own name is stored, so the two can't be told apart)"
            )
        made[key] = target
        inner[target[0], _last(target[1])] = target  # so it is stored from now on
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


def _last(name: str) -> str:
    return parts(name)[-1]
