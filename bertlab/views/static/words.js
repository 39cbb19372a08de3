// The texts of the views in the reader's language. They come from the catalogues, `locales/*/views`: `assets` makes catalogue.js.
import { CATALOGUE } from "./catalogue.js";

/** The texts on the controls. A host may pass options.labels to replace any of them. */
export function words(options) {
  const lang = CATALOGUE[options?.lang] ? options.lang : "en";
  return { ...CATALOGUE.en, ...CATALOGUE[lang], lang, ...(options?.labels ?? {}) };
}
