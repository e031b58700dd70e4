// Lays out JSON for reading without changing a character of its values: numbers of any length stay what they are.

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null|[{}[\],:]/gy;
const TOKENS_MAX = 20000;

// [class, text] pairs; null for what is too long to be laid out, or no JSON.
export function layout(text) {
  const tokens = tokensOf(text);
  if (!tokens) return null;
  const out = [];
  let depth = 0;
  const line = () => out.push(["", `\n${"  ".repeat(Math.min(depth, 60))}`]);
  tokens.forEach((token, index) => {
    const next = tokens[index + 1];
    const last = tokens[index - 1];
    if (token === "{" || token === "[") {
      out.push(["", token]);
      depth += 1;
      if (next !== "}" && next !== "]") line();
    } else if (token === "}" || token === "]") {
      depth -= 1;
      if (last !== "{" && last !== "[") line();
      out.push(["", token]);
    } else if (token === ",") {
      out.push(["", ","]);
      line();
    } else if (token === ":") out.push(["", ": "]);
    else if (token.startsWith('"')) out.push([next === ":" ? "t-key" : "t-text", token]);
    else out.push([/^[tfn]/.test(token) ? "t-word" : "t-number", token]);
  });
  return out;
}

function tokensOf(text) {
  const tokens = [];
  TOKEN.lastIndex = 0;
  let at = 0;
  while (at < text.length) {
    if (/\s/.test(text[at])) {
      at += 1;
      continue;
    }
    TOKEN.lastIndex = at;
    const found = TOKEN.exec(text);
    if (!found || tokens.length >= TOKENS_MAX) return null;
    tokens.push(found[0]);
    at = TOKEN.lastIndex;
  }
  return tokens;
}
