// The texts of the views in the user's language, from catalogue.js, which views/assets.py makes from `locales/*/views`.
import { CATALOGUE } from "./catalogue.js";

/** The texts of the controls; options.labels replace some of them. */
export function words(options) {
  const lang = CATALOGUE[options?.lang] ? options.lang : "en";
  return { ...CATALOGUE.en, ...CATALOGUE[lang], lang, ...(options?.labels ?? {}) };
}
