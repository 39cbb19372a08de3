"""Sentence vectors: similarity, neighbours and clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bertlab.abilities.ability import Prediction, Texts

if TYPE_CHECKING:
    from bertlab.abilities.queries import Query
    from bertlab.session import Session


@dataclass(frozen=True, kw_only=True)
class Embed(Prediction[dict]):
    """Compute a vector of length 1 for each text, for the server; `Session.sentence_vectors` reads many texts."""

    name = "embed"
    summary = "compute a vector for every text of a file"
    doors = ("route", "method")
    page = "sentences"
    example = {"texts": "similar_pair"}

    texts: Texts
    """The texts."""

    def prepare(self, session: Session) -> Query:
        import numpy as np
        import torch

        from bertlab.abilities.queries import Query
        from bertlab.abilities.sentences.embed import encode_sentences
        from bertlab.config.errors import TextError
        from bertlab.nn.pooling import pool_sentences

        settings = session.loaded.sentence_settings
        inputs, truncated = encode_sentences(session.tokenizer, self.texts, settings, session.config.max_tokens)
        for row, model_input in enumerate(inputs, 1):
            if len(model_input) < 3:  # nothing between [CLS] and [SEP]
                raise TextError("text-without-tokens", row=row)

        def finish(outputs: list[torch.Tensor]) -> dict:
            vectors = [
                pool_sentences(hidden_TH[None], torch.ones(1, len(hidden_TH), dtype=torch.bool), settings.pooling)[0]
                for hidden_TH in outputs
            ]
            return {"vectors": np.stack([vector.numpy() for vector in vectors]), "truncated": truncated}

        return Query("", tuple(inputs), finish)


ABILITIES = (Embed,)
