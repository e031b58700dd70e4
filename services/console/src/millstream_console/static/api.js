// Asks the service. Every failure is a Failure with a code and a sentence.

export const session = { token: "", user: null, read_only: false, asks_for_login: false, needs_login: false, mechanisms: [], bootstrap: "" };
const listeners = { loggedOut: () => {} };

export class Failure extends Error {
  constructor(code, message, status) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

export function onLoggedOut(callback) {
  listeners.loggedOut = callback;
}

export async function loadSession() {
  Object.assign(session, await get("session"));
  return session;
}

export async function get(name, query, signal) {
  return answer(await reached(fetch(address(name, query), { signal })));
}

export async function post(name, document, signal) {
  return answer(await reached(fetch(address(name), {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Console-Token": session.token },
    body: JSON.stringify(document ?? {}),
    signal,
  })));
}

export function address(name, query) {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null && value !== "" && value !== false) parameters.set(key, value);
  }
  const text = parameters.toString();
  return `/api/${name}${text ? `?${text}` : ""}`;
}

async function reached(asking) {
  try {
    return await asking;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure("GONE", "The console does not answer. Is the node still running?", 0);
  }
}

async function answer(response) {
  let document;
  try {
    document = await response.json();
  } catch {
    throw new Failure("GONE", `The console answered with status ${response.status}`, response.status);
  }
  if (response.ok) return document;
  const { code, message } = document.error ?? { code: "UNKNOWN", message: response.statusText };
  if (code === "NOT_LOGGED_IN") listeners.loggedOut();
  throw new Failure(code, message, response.status);
}
