"""What a BERT costs: the parameters, FLOP, memory, time and money of any configuration, and a measured step."""

from collections.abc import Mapping

import streamlit as st
from bertlab_app import calls, display, fields, frame, plots, sentences, url
from bertlab_app.data import machine
from bertlab_app.i18n import language, t
from bertlab_app.parts import cost as cost_parts

from bertlab.abilities.cost import figures as cost_views
from bertlab.abilities.cost.estimate import estimate, estimate_growth
from bertlab.abilities.cost.figures import format_quantity
from bertlab.abilities.cost.flops import count_score_flop, find_break_even_length

# quantity whose growth with the sequence length can be drawn -> message id of its name
GROWTH_QUANTITIES = {"flop": "cost-training-flop", "training-memory": "cost-training-memory",
          "inference-memory": "cost-inference-memory"}  # fmt: skip


def show_largest_part(amounts: Mapping[str, float]) -> None:
    """Name the largest part of a cost in a sentence."""
    display.sentence(sentences.parts(amounts, cost_views.name_part(max(amounts, key=amounts.get), language())))


frame.heading("cost")
with frame.show_errors():
    workload = cost_parts.choose_workload()
    cost = calls.assign("cost", calls.call_function(estimate, workload))
    result = cost.result
    lang = language()
    with st.container(horizontal=True):
        st.metric(t("cost-parameters"), format_quantity(result.num_parameters))
        st.metric(t("cost-training-flop"), format_quantity(result.flop_per_step, "FLOP"))
        st.metric(t("cost-training-memory"), format_quantity(result.training_memory.total, "B"))
        st.metric(t("cost-inference-memory"), format_quantity(result.inference_memory.total, "B"))
    display.explain("cost_parameters", "cost_flop", "cost_memory", "cost_activations", "cost_time")

    left, right = st.columns(2)
    with left:
        st.subheader(t("cost-parameters"), anchor=False)
        plots.draw("parameters", cost_views.part_bars, cost.field("parameters"), lang=lang)
        show_largest_part(result.parameters)
    with right:
        st.subheader(t("cost-training-flop"), anchor=False, help=t("cost-training-flop-help"))
        plots.draw("flop", cost_views.part_bars, cost.field("training_flop"), "FLOP", lang=lang)
        show_largest_part(result.training_flop)
        forward = format_quantity(sum(result.forward_flop.values()), "FLOP")
        st.caption(t("cost-forward", flop=forward))
    left, right = st.columns(2)
    with left:
        st.subheader(t("cost-training-memory"), anchor=False, help=t("cost-memory-help"))
        plots.draw("training", cost_views.part_bars, cost.field("training_memory").field("parts"), "B", lang=lang)
        show_largest_part(result.training_memory.parts)
        st.caption(t(f"cost-moment-{result.training_memory.moment}"))
    with right:
        st.subheader(t("cost-inference-memory"), anchor=False, help=t("cost-inference-help"))
        plots.draw("inference", cost_views.part_bars, cost.field("inference_memory").field("parts"), "B", lang=lang)
        show_largest_part(result.inference_memory.parts)
        st.caption(t("cost-inference-flop", flop=format_quantity(sum(result.inference_flop.values()), "FLOP")))

    st.subheader(t("cost-growth"), anchor=False)
    names = {name: t(id) for name, id in GROWTH_QUANTITIES.items()}
    quantity = fields.choice(st.segmented_control, t("cost-quantity"), names, "growth-of", required=True)
    lengths = cost_parts.choose_lengths(result.workload.tokens)
    growth = calls.call_function(estimate_growth, workload, lengths)
    points = cost_views.growth_columns(growth.result, quantity)
    plots.draw("growth", cost_views.growth_curve, growth, quantity, data=points, lang=lang)
    share = result.training_flop["attention-scores"] / result.flop_per_step
    st.caption(t("cost-quadratic", tokens=find_break_even_length(result.workload), now=result.workload.tokens,
                 share=cost_views.percent(share)))  # fmt: skip

    st.subheader(t("cost-sparse"), anchor=False)
    scores = calls.call_function(count_score_flop, workload, lengths)
    plots.draw("scores", cost_views.score_curves, scores, data=scores.result, lang=lang)
    full, longformer, big_bird = (scores.result[name][-1] for name in ("full", "longformer", "big-bird"))
    st.caption(t("cost-sparse-note", tokens=lengths[-1], longformer=f"{full / longformer:.1f}",
                 bigbird=f"{full / big_bird:.1f}"))  # fmt: skip

    st.subheader(t("cost-time"), anchor=False)
    this_machine = machine.measure_peak(result.workload.precision)
    cost_parts.show_runs(result, this_machine)

    st.subheader(t("cost-measure"), anchor=False)
    cost_parts.show_measurement(result.workload, this_machine)

    st.subheader(t("cost-published"), anchor=False)
    cost_parts.show_published()
url.write_address()
