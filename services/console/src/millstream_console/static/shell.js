// Commands as a person pastes them into a shell; whatever is in a name, it stays one word.

export function quoted(text) {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

export function command(...words) {
  return words.map((each) => quoted(String(each))).join(" ");
}
