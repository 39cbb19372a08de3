// The texts of the views in the user's language. `views/assets.py` generates catalogue.js from `locales/*/views`.
import { CATALOGUE } from "./catalogue.js";

/** The texts of the controls; options.labels replace some of them. */
export function viewTexts(options) {
  const lang = CATALOGUE[options?.lang] ? options.lang : "en";
  return { ...CATALOGUE.en, ...CATALOGUE[lang], lang, ...(options?.labels ?? {}) };
}
