"""The shop's books: orders, repair slots, bookings and returns in an SQLite database in memory.

The tools are the only way in. A tool that cannot do what it is asked raises `ToolError`; the agent has to
tell the user. The rules are those of the shop's own policies: POLICY_RETURN_001, _002, _003, _005 for returns,
POLICY_WARRANTY_001 and _007 for repairs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

__all__ = ["Store", "ToolError"]

Row = dict[str, Any]

_SCHEMA = """
create table orders (order_id text primary key, phone text, customer text, product text, category text,
    price numeric, status text, ordered_at text, shipped_at text, signed_at text, carrier text, tracking_no text,
    opened integer, warranty_months integer);
create table slots (date text, period text, left integer, primary key (date, period));
create table bookings (booking_id text primary key, product text, fault text, name text, phone text,
    address text, date text, period text);
create table returns (return_id text primary key, order_id text unique, reason text, phone text);
"""
_ORDER = (
    "order_id", "phone", "customer", "product", "category", "price", "status", "ordered_at", "shipped_at",
    "signed_at", "carrier", "tracking_no", "opened", "warranty_months",
)  # fmt: skip
_INSERT_ORDER = f"insert into orders values ({','.join('?' * len(_ORDER))})"  # noqa: S608 - made of question marks


class ToolError(Exception):
    """A tool's refusal: a stable code, and what the user should know."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class Store:
    """One set of books, seeded from `shop`; `copy` gives a new one that changes on its own."""

    def __init__(self, shop: Mapping[str, Any], *, books: sqlite3.Connection | None = None) -> None:
        self.shop = shop
        self.clock = datetime.fromisoformat(shop["clock"])
        self._db = books or _seeded(shop)
        self._db.row_factory = sqlite3.Row

    def copy(self) -> Store:
        """The same books as they are now, in a database of their own."""
        books = _empty()
        self._db.backup(books)
        return Store(self.shop, books=books)

    def close(self) -> None:
        """Throw the books away."""
        self._db.close()

    def rows(self, query: str, *values: object) -> list[Row]:
        """The rows of a query."""
        return [dict(row) for row in self._db.execute(query, values)]

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction: all of it or nothing."""
        with self._db:
            yield self._db

    def order(self, order_id: str) -> Row:
        """The order of that number; ToolError when there is none."""
        found = self.rows("select * from orders where order_id = ?", order_id.upper())
        if not found:
            raise ToolError("ORDER_NOT_FOUND", f"没有查到订单号为 {order_id} 的订单")
        return found[0]

    def orders_of(self, phone: str) -> list[Row]:
        """The orders of that phone, newest first; ToolError when there are none."""
        found = self.rows("select * from orders where phone = ? order by ordered_at desc", phone)
        if not found:
            raise ToolError("NO_ORDERS", f"手机号 {phone} 名下没有订单")
        return found


def _empty() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", check_same_thread=False)


def _seeded(shop: Mapping[str, Any]) -> sqlite3.Connection:
    """New books with the orders and repair slots of the shop."""
    books = _empty()
    books.executescript(_SCHEMA)
    with books:
        books.executemany(_INSERT_ORDER, [[order[name] for name in _ORDER] for order in shop["orders"]])
        slots = [[slot["date"], slot["period"], slot["left"]] for slot in shop["repair_slots"]]
        books.executemany("insert into slots values (?, ?, ?)", slots)
    return books
