"""The whole table: for each API requests, and which grants they take."""

from authorization_admin_rows import ADMINISTRATORS
from authorization_client_rows import CLIENTS

ROWS = {**CLIENTS.rows, **ADMINISTRATORS.rows}
