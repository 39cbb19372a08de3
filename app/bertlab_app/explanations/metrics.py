"""Formulas of losses, metrics and costs."""

from bertlab_app.explanations.number import ARXIV, Number

# key of a value -> its formula, its source and the URL of the source
METRICS: dict[str, Number] = {
    "rouge": Number(
        r"F_1=\frac{2\cdot\mathrm{common}(a,b)}{|a|+|b|}",
        "Lin 2004, ROUGE, §2–3",
        "https://aclanthology.org/W04-1013/",
    ),
    "masked_accuracy": Number(
        r"\frac{1}{|M|}\sum_{t\in M}\mathbf 1\left[\arg\max_w p(w\mid t)=w_t\right]",
        "Devlin et al. 2019, BERT, §3.1 and appendix A.1",
        ARXIV + "1810.04805",
    ),
    "nsp_accuracy": Number(
        r"\frac{1}{N}\sum_n \mathbf 1\left[\hat y_n=y_n\right]",
        "Devlin et al. 2019, BERT, §3.1, task 2",
        ARXIV + "1810.04805",
    ),
    "order_accuracy": Number(
        r"\frac{1}{N}\sum_n \mathbf 1\left[\hat y_n=y_n\right]",
        "Lan et al. 2020, ALBERT, §3.1",
        ARXIV + "1909.11942",
    ),
    "replaced_precision": Number(
        r"\frac{|\{t:\hat y_t=y_t=1\}|}{|\{t:\hat y_t=1\}|},\quad y_t=1\text{ if token }t\text{ was replaced}",
        "Clark et al. 2020, ELECTRA, §2",
        ARXIV + "2003.10555",
    ),
    "replaced_recall": Number(
        r"\frac{|\{t:\hat y_t=y_t=1\}|}{|\{t:y_t=1\}|},\quad y_t=1\text{ if token }t\text{ was replaced}",
        "Clark et al. 2020, ELECTRA, §2",
        ARXIV + "2003.10555",
    ),
    "error": Number(
        r"\mathrm{MAE}=\frac{1}{N}\sum_n\left|\hat y_n-y_n\right|",
        "Willmott and Matsuura 2005, Advantages of the mean absolute error",
        "https://doi.org/10.3354/cr030079",
    ),
    "loss": Number(
        r"\mathcal L=-\frac{1}{|M|}\sum_{t\in M}\ln p(w_t\mid t)\;\left(-\frac1N\sum_n\ln p(y_n)\right)",
        "Devlin et al. 2019, BERT, appendix A.2",
        ARXIV + "1810.04805",
    ),
    "bits_per_character": Number(
        r"\mathrm{bpc}=\frac{\mathcal L_{\text{MLM}}}{\ln 2}\cdot\frac{\text{tokens}}{\text{characters}}",
        "Mielke 2019, Can you compare perplexity across different segmentations?",
        "https://sjmielke.com/comparing-perplexities.htm",
    ),
    "exact_match": Number(
        (
            r"\mathrm{EM}=\frac{1}{N}\sum_n \mathbf 1\left[\exists g\in G_n: \mathrm{norm}(a_n)=\mathrm{norm}(g)"
            r"\right]"
        ),
        "Rajpurkar et al. 2016, SQuAD, §6.1",
        ARXIV + "1606.05250",
    ),
    "f1": Number(
        r"F_1=\frac{2PR}{P+R},\quad P=\frac{|a\cap g|}{|a|},\;R=\frac{|a\cap g|}{|g|}",
        "Rajpurkar et al. 2016, SQuAD, §6.1",
        ARXIV + "1606.05250",
    ),
    "rouge_w": Number(
        (
            r"F_1=\frac{2PR}{P+R},\quad P=\frac{|r|}{|a|},\;R=\frac{|r|}{|g|},\;r=\text{longest run of characters "
            r"in both}"
        ),
        "Park et al. 2021, KLUE, §3.7",
        ARXIV + "2105.09680",
    ),
    "accuracy": Number(
        r"\frac{1}{N}\sum_n \mathbf 1\left[\hat y_n=y_n\right]",
        "Wang et al. 2019, GLUE, §3",
        ARXIV + "1804.07461",
    ),
    "f1_class": Number(
        r"F_1=\frac{2\,TP}{2\,TP+FP+FN}",
        "Wang et al. 2019, GLUE, §3.2",
        ARXIV + "1804.07461",
    ),
    "f1_entity": Number(
        r"F_1=\frac{2PR}{P+R}\quad\text{over whole entities: type, first and last word}",
        "Tjong Kim Sang and De Meulder 2003, CoNLL-2003 shared task, §2",
        "https://aclanthology.org/W03-0419/",
    ),
    "label_probability": Number(
        r"p(y\mid x)=\mathrm{softmax}\!\left(C W^{\top}\right)_{y},\qquad \text{loss}=-\ln p(y\mid x)",
        "Devlin et al. 2019, BERT, §4.1",
        ARXIV + "1810.04805",
    ),
    "confusion": Number(
        (
            r"C_{gs}=\sum_n \mathbf 1\left[y_n=g\wedge\hat y_n=s\right],\qquad \text{share}=C_{gs}\Big/"
            r"\sum_{s'}C_{gs'}"
        ),
        "Manning et al. 2008, Introduction to Information Retrieval, §14.5",
        "https://nlp.stanford.edu/IR-book/html/htmledition/classification-with-more-than-two-classes-1.html",
    ),
    "mcc": Number(
        r"\mathrm{MCC}=\frac{TP\cdot TN-FP\cdot FN}{\sqrt{(TP+FP)(TP+FN)(TN+FP)(TN+FN)}}",
        "Warstadt et al. 2019, CoLA, §4",
        ARXIV + "1805.12471",
    ),
    "pearson": Number(
        r"r=\frac{\sum_n(x_n-\bar x)(y_n-\bar y)}{\sqrt{\sum_n(x_n-\bar x)^2}\sqrt{\sum_n(y_n-\bar y)^2}}",
        "Cer et al. 2017, SemEval task 1 (STS-B), §6",
        ARXIV + "1708.00055",
    ),
    "spearman": Number(
        r"\rho=r\left(\mathrm{rank}(x),\mathrm{rank}(y)\right)",
        "Wang et al. 2019, GLUE, §3.2",
        ARXIV + "1804.07461",
    ),
    "cost_parameters": Number(
        (
            r"N=\underbrace{VH+TH+2H}_{\text{embeddings}}+L\big(\underbrace{4H^2+4H}_{\text{attention}}+\underbrace{2HI"
            r"+H+I}_{\text{feed-forward}}+4H\big)+\dots"
        ),
        "Devlin et al. 2019, BERT, §3",
        ARXIV + "1810.04805",
    ),
    "cost_flop": Number(
        r"F\approx 3\cdot L\cdot n\left(8H^2+4HI\right)+3\cdot\underbrace{L\cdot 4n^2H}_{\text{scores}}+\dots",
        "Kaplan et al. 2020, Scaling Laws for Neural Language Models, §2.1, table 1",
        ARXIV + "2001.08361",
    ),
    "cost_memory": Number(
        (
            r"M=\underbrace{(4+2)N}_{\text{weights}}+\underbrace{(4+2)N}_{\text{gradients}}+\underbrace{(4+4)N}_{"
            r"\text{Adam}}+\text{activations}"
        ),
        "Rajbhandari et al. 2020, ZeRO, §3.1",
        ARXIV + "1910.02054",
    ),
    "cost_activations": Number(
        r"A\approx L\left(Bn\,(8H+2I)\,b+\underbrace{B\,a\,n^2\,b}_{\text{if the scores are stored}}\right)",
        "Korthikanti et al. 2022, Reducing Activation Recomputation, §4",
        ARXIV + "2205.05198",
    ),
    "cost_time": Number(
        r"t=\frac{\text{steps}\cdot F}{\text{share}\cdot\text{peak}}\qquad \text{price}=t\cdot\text{price per hour}",
        "Chowdhery et al. 2022, PaLM, §4.1 (model FLOPs utilization)",
        ARXIV + "2204.02311",
    ),
}
