"""The model families other than BERT, one `Family` each; that class documents the fields.

Sources of tensor names and defaults: the classes of `transformers` with the family's class prefix.
"""

from typing import Any

from bertlab.config.families import BERT_TENSORS, Family, HeadNames, register_family, rename_tensors

register_family(
    Family(
        "distilbert",
        "https://arxiv.org/abs/1910.01108",
        class_prefix="DistilBert",
        prefix="distilbert",
        tensors={
            "embeddings.token": ("distilbert.embeddings.word_embeddings",),
            "embeddings.position": ("distilbert.embeddings.position_embeddings",),
            "embeddings.norm": ("distilbert.embeddings.LayerNorm",),
            "encoder.layers.{}.attention.qkv": tuple(
                f"distilbert.transformer.layer.{{}}.attention.{part}_lin" for part in "qkv"
            ),
            "encoder.layers.{}.attention.out": ("distilbert.transformer.layer.{}.attention.out_lin",),
            "encoder.layers.{}.attention_norm": ("distilbert.transformer.layer.{}.sa_layer_norm",),
            "encoder.layers.{}.feed_forward.up": ("distilbert.transformer.layer.{}.ffn.lin1",),
            "encoder.layers.{}.feed_forward.down": ("distilbert.transformer.layer.{}.ffn.lin2",),
            "encoder.layers.{}.feed_forward_norm": ("distilbert.transformer.layer.{}.output_layer_norm",),
        },
        heads={
            "mlm": HeadNames(
                "DistilBertForMaskedLM",
                {"": "vocab_projector", "dense": "vocab_transform", "norm": "vocab_layer_norm"},
            ),
            **{
                name: HeadNames(hf_class, {"": "classifier"}, {"dense": "pre_classifier"})
                for name, hf_class in (
                    ("classify", "DistilBertForSequenceClassification"),
                    ("regress", "DistilBertForSequenceClassification"),
                    ("choose", "DistilBertForMultipleChoice"),
                )
            },
        },
        tied_copies={"vocab_projector.weight": "distilbert.embeddings.word_embeddings.weight"},
        hf_fields={
            "hidden_size": "dim", "num_layers": "n_layers", "num_heads": "n_heads", "intermediate_size": "hidden_dim",
            "activation": "activation", "hidden_dropout": "dropout", "attention_dropout": "attention_dropout",
            "type_vocab_size": "", "layer_norm_eps": "", "left_to_right": "",
        },
        type_vocab_size=0,
        pairs_need_token_types=False,
        pooler_activation="relu",
        pretraining={"pair_objective": "none"},
    )
)  # fmt: skip

# Output layer -> how RoBERTa stores it. XLM-RoBERTa and Longformer differ only in the name of the class.
ROBERTA_HEADS = {
    "mlm": HeadNames(
        "RobertaForMaskedLM", {"": "lm_head", "dense": "lm_head.dense", "norm": "lm_head.layer_norm"}
    ),
    **{
        name: HeadNames(
            "RobertaForSequenceClassification", {"": "classifier.out_proj"}, {"dense": "classifier.dense"}
        )
        for name in ("classify", "regress")
    },
}  # fmt: skip
# The other settings of RoBERTa. XLM-RoBERTa has the same ones; Longformer changes the names of tensors.
_ROBERTA_SETTINGS: dict[str, Any] = {
    "prefix": "roberta",
    "tensors": rename_tensors(BERT_TENSORS, "bert", "roberta"),
    "tied_copies": {
        "lm_head.decoder.weight": "roberta.embeddings.word_embeddings.weight",
        "lm_head.decoder.bias": "lm_head.bias",
    },
    "pad_token_id": 1,
    "positions_after_padding": True,
    "pairs_need_token_types": False,
    "mlm_activation": "gelu",
}
register_family(
    Family(
        "roberta", "https://arxiv.org/abs/1907.11692", class_prefix="Roberta", heads=ROBERTA_HEADS,
        pretraining={"pair_objective": "none"}, **_ROBERTA_SETTINGS,
    )
)  # fmt: skip
register_family(
    Family(
        "xlm-roberta",
        "https://arxiv.org/abs/1911.02116",
        class_prefix="XLMRoberta",
        heads={
            name: HeadNames(f"XLM{names.hf_class}", names.modules, names.pooler)
            for name, names in ROBERTA_HEADS.items()
        },
        **_ROBERTA_SETTINGS,
    )
)

register_family(
    Family(
        "electra",
        "https://arxiv.org/abs/2003.10555",
        class_prefix="Electra",
        prefix="electra",
        tensors=rename_tensors(
            {name: names for name, names in BERT_TENSORS.items() if name != "pooler.dense"}
            | {"embeddings.projection": ("bert.embeddings_project",)},
            "bert",
            "electra",
        ),
        heads={
            "mlm": HeadNames(
                "ElectraForMaskedLM",
                {"": "generator_lm_head", "dense": "generator_predictions.dense",
                 "norm": "generator_predictions.LayerNorm"},
            ),
            **{
                name: HeadNames(
                    "ElectraForSequenceClassification", {"": "classifier.out_proj"}, {"dense": "classifier.dense"}
                )
                for name in ("classify", "regress")
            },
            "choose": HeadNames(
                "ElectraForMultipleChoice", {"": "classifier"}, {"dense": "sequence_summary.summary"}
            ),
        },
        tied_copies={"generator_lm_head.weight": "electra.embeddings.word_embeddings.weight"},
        hf_fields={"embedding_size": "embedding_size"},
        embedding_size=128,
        pooler_activation="gelu",
        mlm_activation="gelu",
        # the share of [MASK] is that of the function `mask` in pretrain/pretrain_helpers.py of google-research/electra
        pretraining={
            "token_objective": "replaced", "pair_objective": "none", "mask_share": 0.85, "random_share": 0.0,
        },
    )
)  # fmt: skip

register_family(
    Family(
        "albert",
        "https://arxiv.org/abs/1909.11942",
        class_prefix="Albert",
        prefix="albert",
        tensors={
            "embeddings.token": ("albert.embeddings.word_embeddings",),
            "embeddings.position": ("albert.embeddings.position_embeddings",),
            "embeddings.token_type": ("albert.embeddings.token_type_embeddings",),
            "embeddings.norm": ("albert.embeddings.LayerNorm",),
            "embeddings.projection": ("albert.encoder.embedding_hidden_mapping_in",),
            **{
                f"encoder.layers.{{}}.{module}": tuple(
                    f"albert.encoder.albert_layer_groups.{{}}.albert_layers.0.{name}" for name in names
                )
                for module, names in {
                    "attention.qkv": ("attention.query", "attention.key", "attention.value"),
                    "attention.out": ("attention.dense",),
                    "attention_norm": ("attention.LayerNorm",),
                    "feed_forward.up": ("ffn",),
                    "feed_forward.down": ("ffn_output",),
                    "feed_forward_norm": ("full_layer_layer_norm",),
                }.items()
            },
            "pooler.dense": ("albert.pooler",),
        },
        heads={
            "mlm": HeadNames(
                "AlbertForMaskedLM", {"": "predictions", "dense": "predictions.dense", "norm": "predictions.LayerNorm"}
            ),
            "nsp": HeadNames("AlbertForPreTraining", {"": "sop_classifier.classifier"}),
        },
        tied_copies={
            "predictions.decoder.weight": "albert.embeddings.word_embeddings.weight",
            "predictions.decoder.bias": "predictions.bias",
        },
        hf_fields={"embedding_size": "embedding_size", "num_layer_groups": "num_hidden_groups"},
        fixed_fields={"inner_group_num": 1},
        activation="gelu_new",
        embedding_size=128,
        num_layer_groups=1,
        always_projects=True,
        pair_objective="order",
        pretraining={"pair_objective": "order"},
    )
)

register_family(
    Family(
        "modernbert",
        "https://arxiv.org/abs/2412.13663",
        class_prefix="ModernBert",
        prefix="model",
        tensors={
            "embeddings.token": ("model.embeddings.tok_embeddings",),
            "embeddings.norm": ("model.embeddings.norm",),
            "encoder.layers.{}.attention.qkv": ("model.layers.{}.attn.Wqkv",),
            "encoder.layers.{}.attention.out": ("model.layers.{}.attn.Wo",),
            "encoder.layers.{}.attention_norm": ("model.layers.{}.attn_norm",),
            "encoder.layers.{}.feed_forward.up": ("model.layers.{}.mlp.Wi",),
            "encoder.layers.{}.feed_forward.down": ("model.layers.{}.mlp.Wo",),
            "encoder.layers.{}.feed_forward_norm": ("model.layers.{}.mlp_norm",),
            "encoder.norm": ("model.final_norm",),
        },
        heads={
            "mlm": HeadNames("ModernBertForMaskedLM", {"": "decoder", "dense": "head.dense", "norm": "head.norm"}),
            **{
                name: HeadNames(hf_class, {"": "classifier"}, {"dense": "head.dense", "norm": "head.norm"})
                for name, hf_class in (
                    ("classify", "ModernBertForSequenceClassification"),
                    ("regress", "ModernBertForSequenceClassification"),
                    ("choose", "ModernBertForMultipleChoice"),
                )
            },
            **{
                name: HeadNames(
                    hf_class, {"": "classifier", "transform.dense": "head.dense", "transform.norm": "head.norm"}
                )
                for name, hf_class in (
                    ("tag", "ModernBertForTokenClassification"),
                    ("span", "ModernBertForQuestionAnswering"),
                )
            },
        },
        tied_copies={"decoder.weight": "model.embeddings.tok_embeddings.weight"},
        hf_fields={
            "activation": "hidden_activation", "layer_norm_eps": "norm_eps", "hidden_dropout": "embedding_dropout",
            "attention_dropout": "attention_dropout", "type_vocab_size": "", "left_to_right": "",
            "pooling": "classifier_pooling",
        },
        fixed_fields={
            "norm_bias": False, "attention_bias": False, "mlp_bias": False, "classifier_bias": False,
            "decoder_bias": True, "classifier_activation": "gelu",
        },
        has_rotary_fields=True,
        max_positions=8192,
        type_vocab_size=0,
        layer_norm_eps=1e-5,
        pad_token_id=50283,
        embeddings="token",
        layers="pre-norm",
        position_embeddings="",
        pairs_need_token_types=False,
        has_biases=False,
        pooler_activation="gelu",
        pooler_has_norm=True,
        mlm_activation="gelu",
        token_heads_have_dense_layer=True,
        pretraining={"pair_objective": "none", "chosen_share": 0.3, "start": "paper"},
        feed_forward_ratio=1.5,
    )
)  # fmt: skip

register_family(
    Family(
        "mobilebert",
        "https://arxiv.org/abs/2004.02984",
        class_prefix="MobileBert",
        prefix="mobilebert",
        tensors={
            name: names
            for name, names in rename_tensors(BERT_TENSORS, "bert", "mobilebert").items()
            if name != "encoder.layers.{}.attention.qkv"
        }
        | {
            "embeddings.projection": ("mobilebert.embeddings.embedding_transformation",),
            **{
                f"encoder.layers.{{}}.{module}": (f"mobilebert.encoder.layer.{{}}.{name}",)
                for module, name in {
                    "attention.qkv.query": "attention.self.query",
                    "attention.qkv.key": "attention.self.key",
                    "attention.qkv.value": "attention.self.value",
                    "attention.qkv.dense": "bottleneck.attention.dense",
                    "attention.qkv.norm": "bottleneck.attention.LayerNorm",
                    "narrow.dense": "bottleneck.input.dense",
                    "narrow.norm": "bottleneck.input.LayerNorm",
                    "first_feed_forwards.{}.up": "ffn.{}.intermediate.dense",
                    "first_feed_forwards.{}.down": "ffn.{}.output.dense",
                    "first_feed_forwards.{}.norm": "ffn.{}.output.LayerNorm",
                    "widen": "output.bottleneck.dense",
                    "widen_norm": "output.bottleneck.LayerNorm",
                }.items()
            },
        },
        heads={
            "mlm": HeadNames(
                "MobileBertForMaskedLM",
                {"": "cls.predictions", "dense": "cls.predictions.transform.dense",
                 "norm": "cls.predictions.transform.LayerNorm", "extra": "cls.predictions.dense"},
            ),
        },
        tied_copies={
            "cls.predictions.decoder.weight": "mobilebert.embeddings.word_embeddings.weight",
            "cls.predictions.decoder.bias": "cls.predictions.bias",
        },
        hf_fields={
            "embedding_size": "embedding_size", "bottleneck_size": "intra_bottleneck_size",
            "num_feed_forwards": "num_feedforward_networks", "has_pooler_layer": "classifier_activation",
        },
        fixed_fields={
            "trigram_input": True, "use_bottleneck": True, "use_bottleneck_attention": False,
            "key_query_shared_bottleneck": True, "normalization_type": "no_norm",
        },
        activation="relu",
        extra_activations=("relu",),
        embedding_size=128,
        bottleneck_size=128,
        num_feed_forwards=4,
        embeddings="trigram",
        layers="bottleneck",
        decoder_has_own_weights=True,
    )
)  # fmt: skip

register_family(
    Family(
        "longformer",
        "https://arxiv.org/abs/2004.05150",
        class_prefix="Longformer",
        heads={
            name: HeadNames(names.hf_class.replace("Roberta", "Longformer"), names.modules, names.pooler)
            for name, names in ROBERTA_HEADS.items()
        },
        **_ROBERTA_SETTINGS
        | {
            "prefix": "longformer",
            "tensors": {
                **rename_tensors(BERT_TENSORS, "bert", "longformer"),
                "encoder.layers.{}.attention.global_qkv": tuple(
                    f"longformer.encoder.layer.{{}}.attention.self.{part}_global" for part in ("query", "key", "value")
                ),
            },
            "tied_copies": {
                "lm_head.decoder.weight": "longformer.embeddings.word_embeddings.weight",
                "lm_head.decoder.bias": "lm_head.bias",
            },
        },
        type_vocab_size=1,
        layers="window",
    )
)

register_family(
    Family(
        "big_bird",
        "https://arxiv.org/abs/2007.14062",
        class_prefix="BigBird",
        tensors={
            **{name: names for name, names in BERT_TENSORS.items() if name != "pooler.dense"},
            "pooler.dense": ("bert.pooler",),
        },
        heads={
            **{
                name: HeadNames(
                    "BigBirdForSequenceClassification",
                    {"": "classifier.out_proj"},
                    {"dense": "classifier.dense"},
                    pooler_uses_feed_forward_activation=True,
                )
                for name in ("classify", "regress")
            },
            "span": HeadNames(
                "BigBirdForQuestionAnswering",
                {"": "qa_classifier.qa_outputs", "transform.up": "qa_classifier.intermediate.dense",
                 "transform.down": "qa_classifier.output.dense", "transform.norm": "qa_classifier.output.LayerNorm"},
            ),
        },
        fixed_fields={"rescale_embeddings": False, "use_bias": True},
        max_positions=4096,
        activation="gelu_new",
        layers="block",
        span_head_has_feed_forward=True,
    )
)  # fmt: skip
