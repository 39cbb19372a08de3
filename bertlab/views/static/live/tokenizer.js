// The tokenizer of BERT: text in, tokens out. The tokens are the same as those of Python's `tokenizers` library.
//
// 1. Special tokens that the user typed, such as [MASK], are cut out; the steps below do not change them.
// 2. The text is cleaned and split into words at spaces and punctuation (BasicTokenizer in google-research/bert).
// 3. Each word is split into the longest pieces that the vocabulary has (WordPiece; Devlin et al. 2019, section 3).
import { ACCENTS, DECOMPOSABLE, PUNCTUATION, REMOVED } from "./characters.js";

const SPACE = /[\t\n\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/gu;
const WORD_BREAK = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/u;
// the ranges in google-research/bert/tokenization.py, except for the sixth, which is a little shorter in the library
const CHINESE = /[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{2a6df}\u{2a700}-\u{2b81f}\u{2b920}-\u{2ceaf}\u{2f800}-\u{2fa1f}]/gu;
const REMOVED_CHARACTERS = new RegExp(`[${REMOVED}]`, "gu");
const PUNCTUATION_MARKS = new RegExp(`[${PUNCTUATION}]`, "gu");
const ACCENT_MARKS = new RegExp(`[${ACCENTS}]`, "gu");
const ACCENTED_TEXT = new RegExp(`[${DECOMPOSABLE}${ACCENTS}]+`, "gu");

/** A WordPiece tokenizer. */
export class Tokenizer {
  /**
   * settings: {tokens: all tokens in the order of their ids, special: the tokens that a user may type, lowercase, stripAccents,
   * cleanText, splitChinese, prefix: what marks a piece inside a word ("##"), maxWordLength: a longer word becomes [UNK]}
   */
  constructor(settings) {
    this.settings = settings;
    this.tokens = settings.tokens;
    this.ids = new Map(settings.tokens.map((token, id) => [token, id]));
    const longestFirst = [...settings.special].sort((a, b) => b.length - a.length);
    this.special = new RegExp(`(${longestFirst.map(escapePattern).join("|")})`, "u");
  }

  /** Encode [CLS] a [SEP], or [CLS] a [SEP] b [SEP]. types: 0 for the tokens of a, 1 for those of b. */
  encode(a, b = null) {
    const first = ["[CLS]", ...this.tokenize(a), "[SEP]"];
    const second = b === null ? [] : [...this.tokenize(b), "[SEP]"];
    const tokens = [...first, ...second];
    const edges = new Set([0, first.length - 1, ...(b === null ? [] : [tokens.length - 1])]);
    return {
      tokens,
      ids: tokens.map((token) => this.ids.get(token)),
      types: tokens.map((_, i) => (i < first.length ? 0 : 1)),
      added: tokens.map((_, i) => edges.has(i)), // the [CLS] and [SEP] that are not part of a text
    };
  }

  /** Split a text into tokens. */
  tokenize(text) {
    const wellFormed = text.replace(/\p{Surrogate}/gu, "\ufffd"); // half a surrogate pair is no character
    return wellFormed.split(this.special).flatMap((part, i, parts) => {
      if (i % 2) return [part]; // the pattern is in brackets: odd parts match it
      return i && parts[i - 1] === "[MASK]" ? this.continueWord(part)
        : this.splitWords(part).flatMap((word) => this.splitWord(word));
    });
  }

  /** Split the text after a [MASK]. Without a space or a punctuation mark between them, its first word is the end of a word. */
  continueWord(text) {
    const [first, ...words] = this.splitWords(`a${text}`);
    const wordEnd = first.slice(1);
    const pieces = wordEnd ? this.splitWord(wordEnd, true) : [];
    return [...(pieces[0] === "[UNK]" ? this.splitWord(wordEnd) : pieces), ...words.flatMap((word) => this.splitWord(word))];
  }

  /** Clean a text and split it into words; each punctuation mark is a word. */
  splitWords(text) {
    const { cleanText, splitChinese, stripAccents, lowercase } = this.settings;
    let clean = text;
    if (cleanText) clean = clean.replace(SPACE, " ").replace(REMOVED_CHARACTERS, "");
    if (splitChinese) clean = clean.replace(CHINESE, " $& ");
    // NFD writes é as e and an accent, which is then deleted. It also splits a Hangul syllable into its letters.
    if (stripAccents) clean = clean.replace(ACCENTED_TEXT, (part) => part.normalize("NFD")).replace(ACCENT_MARKS, "");
    // letter by letter, because JavaScript writes the last Σ of a Greek word differently
    if (lowercase) clean = Array.from(clean, (letter) => letter.toLowerCase()).join("");
    return clean.replace(PUNCTUATION_MARKS, " $& ").split(WORD_BREAK).filter((word) => word);
  }

  /** Split a word, or the end of one, into pieces: always the longest one that the vocabulary has, from left to right. */
  splitWord(word, isWordEnd = false) {
    const letters = Array.from(word);
    if (letters.length > this.settings.maxWordLength) return ["[UNK]"];
    const pieces = [];
    let start = 0;
    while (start < letters.length) {
      let end = letters.length;
      const piece = () => (start || isWordEnd ? this.settings.prefix : "") + letters.slice(start, end).join("");
      while (end > start && !this.ids.has(piece())) end--;
      if (end === start) return ["[UNK]"]; // no piece fits, so the whole word is unknown
      pieces.push(piece());
      start = end;
    }
    return pieces;
  }
}

function escapePattern(text) {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}
