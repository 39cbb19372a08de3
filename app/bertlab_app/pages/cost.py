"""What a BERT costs: the parameters, FLOP, memory, time and money of any configuration, and a measured step."""

from collections.abc import Mapping
from dataclasses import replace

import streamlit as st
from bertlab_app import calls, url
from bertlab_app.data import machine
from bertlab_app.i18n import language, t
from bertlab_app.widgets import display, fields, frame, plots, sentences

from bertlab.abilities.cost import figures as cost_views
from bertlab.abilities.cost import published
from bertlab.abilities.cost.estimate import Cost, estimate, estimate_growth
from bertlab.abilities.cost.figures import format_duration, format_money, format_quantity
from bertlab.abilities.cost.flops import count_score_flop, find_break_even_length
from bertlab.abilities.cost.hardware import CPU_PRICE, GPU_SHARE, GPUS, estimate_cpu_share
from bertlab.abilities.cost.measure import Comparison
from bertlab.abilities.cost.memory import compute_training_memory
from bertlab.abilities.cost.runs import estimate_run, estimate_runs
from bertlab.abilities.cost.workload import OPTIMIZER_NAMES, Workload
from bertlab.config.config import ModelConfig
from bertlab.config.presets import PRESETS
from bertlab.views.numbers import percent, signed

DEFAULT_PRESET = "base"
# field of `ModelConfig` -> (key in the address, highest value)
SIZES = {
    "num_layers": ("layers", 1_000), "hidden_size": ("hidden", 65_536), "num_heads": ("attention-heads", 1_024),
    "intermediate_size": ("intermediate", 262_144), "vocab_size": ("vocab", 10_000_000),
}  # fmt: skip
MAX_TOKENS, MAX_ROWS, MAX_STEPS = 65_536, 65_536, 100_000_000  # highest values of the fields: length, batch, steps
FIELD_WIDTH = 165  # width of a number field in pixels
GROWTH_POINTS = 16  # how many sequence lengths the figure of the growth of a cost contains
THIS_MACHINE = "here"  # the option of the device field that stands for this machine, as in the address
# quantity whose growth with the sequence length can be drawn -> message id of its name
GROWTH_QUANTITIES = {"flop": "cost-training-flop", "training-memory": "cost-training-memory",
          "inference-memory": "cost-inference-memory"}  # fmt: skip


def choose_workload() -> calls.Expression:
    """Draw the fields of a workload and return the `Workload`, with the code that makes it."""
    presets = [DEFAULT_PRESET, *(name for name in PRESETS if name != DEFAULT_PRESET)]
    name = fields.choice(
        st.segmented_control, t("cost-preset"), presets, key="preset", required=True, help=t("cost-preset-help")
    )
    model = PRESETS[name]
    with st.container(horizontal=True):
        sizes = {
            field: fields.number(
                st.number_input, t(f"cost-{key}"), 1, highest, getattr(model, field), key=f"cost.{key}", name=key,
                width=FIELD_WIDTH,
            )
            for field, (key, highest) in SIZES.items()
        }  # fmt: skip
        tokens = fields.number(
            st.number_input, t("cost-tokens"), 1, MAX_TOKENS, 128, key="cost.tokens", name="length", width=FIELD_WIDTH
        )
        batch_size = fields.number(
            st.number_input, t("cost-batch"), 1, MAX_ROWS, 32, key="cost.batch", name="sequences", width=FIELD_WIDTH
        )
        dropout = fields.number(
            st.number_input, t("cost-dropout"), 0.0, 0.9, 0.0, key="cost.dropout", name="dropout", step=0.1,
            width=FIELD_WIDTH,
        )  # fmt: skip
    with st.container(horizontal=True):
        precision = choose_option("precision", ["bfloat16", "float32"])
        optimizer = choose_option("optimizer", list(OPTIMIZER_NAMES))
        task = choose_option("task", ["pretraining", "finetuning"])
        device = choose_option("device", ["gpu", "cpu"] if machine.find_device() == "gpu" else ["cpu", "gpu"])
        recompute = fields.flag(st.toggle, t("cost-recompute"), key="recompute", help=t("cost-recompute-help"))
    config = calls.call_function(ModelConfig, **sizes)
    options = {
        "tokens": tokens, "batch_size": batch_size, "precision": precision, "optimizer": optimizer, "dropout": dropout,
        "recompute": recompute, "task": task, "device": device,
    }  # fmt: skip
    return calls.assign("workload", calls.call_function(Workload, config, **options))


def choose_option(key: str, options: list[str]) -> str:
    """Draw a choice, whose label and options have the message ids cost-KEY and cost-KEY-OPTION."""
    return fields.choice(
        st.segmented_control, t(f"cost-{key}"), options, key=f"cost-{key}", required=True,
        format_func=lambda option: t(f"cost-{key}-{option}"),
    )  # fmt: skip


def choose_lengths(tokens: int) -> tuple[int, ...]:
    """Choose the sequence lengths of the growth figure, in equal steps up to the larger of 4,096 and `2 * tokens`."""
    longest = max(4_096, min(2 * tokens, MAX_TOKENS))
    return tuple(longest * step // GROWTH_POINTS for step in range(1, GROWTH_POINTS + 1))


def show_runs(cost: Cost, this_machine: machine.Machine) -> None:
    """Draw the fields of a training run, and the table of its time and price on this machine and on each GPU."""
    with st.container(horizontal=True):
        steps = fields.number(
            st.number_input, t("cost-steps"), 1, MAX_STEPS, 100_000, key="cost.steps", name="run-steps",
            width=FIELD_WIDTH,
        )  # fmt: skip
        share = fields.number(
            st.number_input, t("cost-share"), 1, 100, round(100 * GPU_SHARE), key="cost.share", name="peak-share",
            width=FIELD_WIDTH, help=t("cost-share-help"),
        )  # fmt: skip
        names = {THIS_MACHINE: t("cost-here")} | {name: name for name in GPUS}
        priced_device = fields.choice(st.selectbox, t("cost-price-of"), names, "price-of", width=2 * FIELD_WIDTH)
        default_price = CPU_PRICE if priced_device == THIS_MACHINE else GPUS[priced_device].price
        price = fields.number(
            st.number_input, t("cost-price"), 0.0, 10_000.0, default_price, key="cost.price", name="hour-price",
            step=0.05, width=FIELD_WIDTH, help=t("cost-price-help"),
        )  # fmt: skip
    own_share = estimate_own_share(cost.workload, this_machine)
    own_price = price if priced_device == THIS_MACHINE else CPU_PRICE
    own_cost = estimate(replace(cost.workload, device=this_machine.device))
    runs = [
        estimate_run(
            own_cost, steps, this_machine.name, peak_flops=this_machine.peak_flops, share=own_share, price=own_price,
            memory_bytes=this_machine.memory_bytes,
        )
    ]  # fmt: skip
    for gpu in GPUS.values():
        runs += estimate_runs(cost, steps, [gpu], share=share / 100, price=price if priced_device == gpu.name else None)
    footnote_marks = ["", *("" if gpu.has_bfloat16 else " *" for gpu in GPUS.values())]
    memory_texts = [
        format_quantity(this_machine.memory_bytes, "B"),
        *(f"{gpu.memory_gib} GiB" for gpu in GPUS.values()),
    ]
    fits = [run.fits for run in runs]
    columns = {
        "device": [run.device + mark for run, mark in zip(runs, footnote_marks, strict=True)],
        "peak": [f"{format_quantity(run.peak_flops, 'FLOP')}/s" for run in runs],
        "memory": [f"{memory} {'✓' if fit else '✗'}" for memory, fit in zip(memory_texts, fits, strict=True)],
        "step": [format_duration(run.step_seconds, language()) for run in runs],
        "run": [format_duration(run.seconds, language()) for run in runs],
        "money": [format_money(run.dollars) for run in runs],
    }
    display.table({t(f"cost-column-{name}"): values for name, values in columns.items()})
    st.caption(t("cost-assumptions", share=f"{share}%", own=percent(own_share)))
    show_sources({gpu.name: gpu.source for gpu in GPUS.values()})


def show_sources(links: dict[str, str]) -> None:
    line = " · ".join(f"[{name}]({link})" for name, link in links.items())
    st.caption(f"{t('number-source')}: {line}")


def estimate_own_share(workload: Workload, this_machine: machine.Machine) -> float:
    """Estimate the share of its measured peak FLOP/s that this machine reaches."""
    if this_machine.device == "gpu":
        return GPU_SHARE
    return estimate_cpu_share(workload.model.hidden_size, workload.precision)


def show_measurement(workload: Workload, this_machine: machine.Machine) -> None:
    """Draw the button that measures training steps on this machine, and the last measurement of this workload."""
    st.caption(t("cost-measure-lead", steps=machine.NUM_MEASURED_STEPS))
    measurements = st.session_state.setdefault("cost.measured", {})  # workload -> its comparison with the estimate
    if st.button(t("cost-measure-button"), icon=":material/timer:"):
        with frame.show_errors(), st.spinner(t("cost-measuring")):
            measurements[workload] = machine.measure_step(workload, estimate_own_share(workload, this_machine))
    if workload in measurements:
        show_comparison(measurements[workload])


def show_comparison(comparison: Comparison) -> None:
    """Show a measured training step beside its estimate."""
    measured = comparison.measured
    columns = {
        "quantity": [t("cost-training-memory"), t("cost-column-step"), t("cost-parameters"), t("cost-training-flop")],
        "estimated": [
            format_quantity(comparison.estimated_bytes, "B"),
            format_duration(comparison.estimated_seconds, language()),
            f"{comparison.estimated_parameters:,}",
            format_quantity(comparison.estimated_flop, "FLOP"),
        ],
        "measured": [
            format_quantity(measured.memory_bytes, "B"), format_duration(measured.seconds, language()),
            f"{measured.parameters:,}", format_quantity(measured.flop, "FLOP"),
        ],
        "error": [
            f"{signed(100 * error, 1)}%"
            for error in (
                comparison.memory_error,
                comparison.time_error,
                comparison.estimated_parameters / measured.parameters - 1,
                comparison.estimated_flop / measured.flop - 1,
            )
        ],
    }  # fmt: skip
    display.table({t(f"cost-column-{name}"): values for name, values in columns.items()})
    st.caption(
        t(
            "cost-measured", hardware=measured.hardware, steps=measured.steps,
            peak=f"{format_quantity(measured.peak_flops, 'FLOP')}/s",
            resident=format_quantity(measured.resident_bytes, "B"),
            runtime=format_quantity(measured.runtime_bytes, "B"),
            wall=format_duration(measured.wall_seconds, language()),
        )
    )  # fmt: skip


@st.cache_data(show_spinner=False)
def compute_batches() -> dict[str, list[str]]:
    """Compute the table of the largest batches that fit into a GPU."""
    rows = published.BATCHES
    memory_sizes = [compute_training_memory(row.make_workload("float32")).total for row in rows]
    return {
        "model": [f"{row.preset} · {row.tokens}" for row in rows],
        "google": [str(row.batch_size) for row in rows],
        "that-batch": [
            format_quantity(size, "B") if row.batch_size else "–" for row, size in zip(rows, memory_sizes, strict=True)
        ],
        "float32": [str(row.find_largest_batch("float32")) for row in rows],
        "bfloat16": [str(row.find_largest_batch("bfloat16")) for row in rows],
    }


def show_published() -> None:
    """Show what the paper and Google's repository published about the cost of BERT, beside our estimates."""
    rows = published.PRETRAINING
    columns = {
        "model": [row.preset for row in rows],
        "published": [t("cost-chips-days", chips=row.chips, days=f"{row.days:g}") for row in rows],
        "run-flop": [format_quantity(row.flop, "FLOP") for row in rows],
        "implied": [percent(row.share_of_peak) for row in rows],
    }
    display.table({t(f"cost-column-{name}"): values for name, values in columns.items()})
    st.caption(t("cost-published-pretraining", peak=f"{published.TPU_CHIP_FLOP_PER_SECOND / 1e12:.0f}"))
    show_sources(published.PRETRAINING_SOURCES)
    display.table({t(f"cost-column-{name}"): values for name, values in compute_batches().items()})
    st.caption(t("cost-published-batches", memory=published.TITAN_X_GIB))
    show_sources(published.BATCH_SOURCES)


def show_largest_part(amounts: Mapping[str, float]) -> None:
    display.sentence(sentences.parts(amounts, cost_views.name_part(max(amounts, key=amounts.get), language())))


frame.heading("cost")
with frame.show_errors():
    workload = choose_workload()
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
    lengths = choose_lengths(result.workload.tokens)
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
    show_runs(result, this_machine)

    st.subheader(t("cost-measure"), anchor=False)
    show_measurement(result.workload, this_machine)

    st.subheader(t("cost-published"), anchor=False)
    show_published()
url.write_address()
