"""The numbers that the app shows, each with its formula and the source that defines it.

A page explains a number by its key (`display.explain`). Its name and its explanation are the messages `number-KEY` and
`number-KEY-explanation`. Formulas are written in KaTeX and are the same in every language.
"""

from dataclasses import dataclass

_ARXIV = "https://arxiv.org/abs/"


@dataclass(frozen=True)
class Number:
    """The formula and the source of a quantity that the app shows."""

    formula: str
    """The formula that computes it, in KaTeX."""
    source: str
    """The paper and the section that define it, or the web page or code that does."""
    link: str
    """The URL of the source."""


NUMBERS = {
    "guess_overlap": Number(
        r"\sum_{w}\min\left(g_w,\;p_w\right)=1-\tfrac{1}{2}\sum_{w}\left|g_w-p_w\right|",
        "Levin, Peres & Wilmer, Markov Chains and Mixing Times, §4.1 (total variation distance)",
        "https://pages.uoregon.edu/dlevin/MARKOV/",
    ),
    "embedding": Number(
        (
            r"h^{(0)}_t=\mathrm{LayerNorm}\!\left(E^{\text{token}}_{w_t}+E^{\text{position}}_t+E^{"
            r"\text{segment}}_{s_t}\right)"
        ),
        "Devlin et al. 2019, BERT, §3, figure 2",
        _ARXIV + "1810.04805",
    ),
    "attention": Number(
        (
            r"\alpha_{ij}=\frac{\exp\left(q_i\cdot k_j/\sqrt{d}\right)}{\sum_{t}\exp\left(q_i\cdot k_t/\sqrt{d}"
            r"\right)}"
        ),
        "Vaswani et al. 2017, Attention Is All You Need, §3.2.1",
        _ARXIV + "1706.03762",
    ),
    "attention_score": Number(
        r"s_{ij}=\frac{q_i\cdot k_j}{\sqrt{d}}",
        "Vaswani et al. 2017, Attention Is All You Need, §3.2.1",
        _ARXIV + "1706.03762",
    ),
    "head_output": Number(
        r"o^{(n)}_i=\sum_j\alpha_{ij}v_j\qquad a_i=W_O\,[o^{(1)}_i;\dots;o^{(N)}_i]+b_O",
        "Vaswani et al. 2017, Attention Is All You Need, §3.2.2",
        _ARXIV + "1706.03762",
    ),
    "residual": Number(
        r"\mathrm{LayerNorm}(x+f(x)),\quad\mathrm{LayerNorm}(z)=\gamma\odot\frac{z-\mu_z}{\sigma_z}+\beta",
        "Vaswani et al. 2017, Attention Is All You Need, §3.1; Ba et al. 2016, Layer Normalization, §3",
        _ARXIV + "1607.06450",
    ),
    "feed_forward": Number(
        r"\mathrm{FFN}(x)=W_2\,\mathrm{GELU}(W_1x+b_1)+b_2",
        "Vaswani et al. 2017, Attention Is All You Need, §3.3; Devlin et al. 2019, appendix A.2 (GELU)",
        _ARXIV + "1706.03762",
    ),
    "attention_mass": Number(
        r"m(A\to B)=\frac{1}{|A|}\sum_{i\in A}\sum_{j\in B}\alpha_{ij}\qquad\text{uniform: }\frac{|B|}{T}",
        "Clark et al. 2019, What Does BERT Look At? §3.2",
        _ARXIV + "1906.04341",
    ),
    "entropy": Number(
        r"H_i=-\sum_j \alpha_{ij}\log_2\alpha_{ij}",
        "Clark et al. 2019, What Does BERT Look At? §3.3",
        _ARXIV + "1906.04341",
    ),
    "attention_difference": Number(
        r"\Delta_{ij}=\alpha^{(2)}_{ij}-\alpha^{(1)}_{ij}",
        "Kovaleva et al. 2019, Revealing the Dark Secrets of BERT, §4.3",
        _ARXIV + "1908.08593",
    ),
    "js_distance": Number(
        (
            r"\pm\frac1T\sum_i\sqrt{\mathrm{JS}_2\left(\alpha^{(1)}_i,\alpha^{(2)}_i\right)},\quad\mathrm{JS}_2(p,"
            r"q)=\tfrac12\mathrm{KL}\left(p\,\Vert\,m\right)+\tfrac12\mathrm{KL}\left(q\,\Vert\,m\right),\;m="
            r"\tfrac{p+q}{2}"
        ),
        "Clark et al. 2019, What Does BERT Look At?, §6 (the divergence)",
        _ARXIV + "1906.04341",
    ),
    "rollout": Number(
        r"\tilde A^{(l)}=\tfrac12\left(\bar A^{(l)}+I\right)\tilde A^{(l-1)}",
        "Abnar and Zuidema 2020, Quantifying Attention Flow, §3",
        _ARXIV + "2005.00928",
    ),
    "mask_probability": Number(
        (
            r"p(w\mid t)=\frac{\exp\left(e_w\cdot g(h_t)+b_w\right)}{\sum_{v\in V}\exp\left(e_v\cdot g(h_t)+b_v"
            r"\right)}"
        ),
        "Devlin et al. 2019, BERT, §3.1, task 1",
        _ARXIV + "1810.04805",
    ),
    "mask_shares": Number(
        r"w_t\;\to\;\text{[MASK]}\;(80\,\%)\quad w\sim\mathrm{Uniform}(V)\;(10\,\%)\quad w_t\;(10\,\%)",
        "Devlin et al. 2019, BERT, §3.1, task 1, and appendices A.1 and C.2",
        _ARXIV + "1810.04805",
    ),
    "token_loss": Number(
        r"\ell_t=-\ln p(w_t\mid t)",
        "Devlin et al. 2019, BERT, §3.1, task 1",
        _ARXIV + "1810.04805",
    ),
    "word_surprise": Number(
        r"s(w)=-\sum_{k}\ln p\left(w_k\mid \text{text without }w_k,w_{k+1},\dots\right)",
        "Salazar et al. 2020, Masked Language Model Scoring, §2.2; Kauf and Ivanova 2023, §3 (later tokens masked too)",
        _ARXIV + "2305.10588",
    ),
    "pseudo_log_likelihood": Number(
        r"\mathrm{PLL}=-\sum_w s(w),\qquad \mathrm{PPPL}=\exp\left(-\frac{\mathrm{PLL}}{\text{tokens}}\right)",
        "Salazar et al. 2020, Masked Language Model Scoring, §2.2 and §2.3",
        _ARXIV + "1910.14659",
    ),
    "correction_gain": Number(
        r"\Delta=\mathrm{PLL}(\text{changed text})-\mathrm{PLL}(\text{text})>m",
        "Salazar et al. 2020, Masked Language Model Scoring, §3 (rescoring candidates)",
        _ARXIV + "1910.14659",
    ),
    "pretraining_loss": Number(
        (
            r"\mathcal L=\underbrace{-\frac{1}{|M|}\sum_{t\in M}\ln p(w_t\mid t)}_{\text{MLM}}"
            r"\;\underbrace{-\ln p(y\mid A,B)}_{\text{NSP or SOP}}"
        ),
        "Devlin et al. 2019, BERT, appendix A.2; SOP: Lan et al. 2020, ALBERT, §3.1",
        _ARXIV + "1810.04805",
    ),
    "tokens_per_word": Number(
        r"\frac{\text{tokens}}{\text{words}}",
        "Rust et al. 2021, How Good is Your Tokenizer?, §4 (fertility)",
        _ARXIV + "2012.15613",
    ),
    "position_similarity": Number(
        r"\cos(p_i,p_j)=\frac{p_i\cdot p_j}{\lVert p_i\rVert\,\lVert p_j\rVert}",
        "Wang and Chen 2020, What Do Position Embeddings Learn?, §4",
        _ARXIV + "2010.04903",
    ),
    "sinusoid": Number(
        r"p_{i,2k}=\sin\frac{i}{10000^{2k/H}},\quad p_{i,2k+1}=\cos\frac{i}{10000^{2k/H}}",
        "Vaswani et al. 2017, Attention Is All You Need, §3.5",
        _ARXIV + "1706.03762",
    ),
    "nsp_probability": Number(
        r"p(\text{IsNext})=\mathrm{softmax}\left(W\tanh(W_p h_{[\mathrm{CLS}]}+b_p)+b\right)_0",
        "Devlin et al. 2019, BERT, §3.1, task 2",
        _ARXIV + "1810.04805",
    ),
    "rank": Number(
        r"\mathrm{rank}(w)=1+\left|\{v\in V: p(v)>p(w)\}\right|",
        "nostalgebraist 2020, Interpreting GPT: the logit lens",
        "https://www.lesswrong.com/posts/AcKRB8wDpdaN6v6ru/interpreting-gpt-the-logit-lens",
    ),
    "layer_probability": Number(
        r"p_l(w\mid t)=\mathrm{softmax}\left(E\,g(h^{(l)}_t)+b\right)_w",
        "nostalgebraist 2020, Interpreting GPT: the logit lens",
        "https://www.lesswrong.com/posts/AcKRB8wDpdaN6v6ru/interpreting-gpt-the-logit-lens",
    ),
    "joint_probability": Number(
        r"\log p(w_1,\dots,w_m)\approx\sum_{k}\log p\left(w_k\mid w_{<k},\text{text}\right)",
        "Wang and Cho 2019, BERT has a Mouth, and It Must Speak, §3",
        _ARXIV + "1902.04094",
    ),
    "class_probability": Number(
        r"p(c)=\mathrm{softmax}\left(W\,h_{\text{pooled}}+b\right)_c",
        "Devlin et al. 2019, BERT, §4.1",
        _ARXIV + "1810.04805",
    ),
    "choice_probability": Number(
        r"p_i=\frac{e^{s_i}}{\sum_j e^{s_j}}",
        "Devlin et al. 2019, BERT, §4.4",
        _ARXIV + "1810.04805",
    ),
    "choice_score": Number(
        r"s_i=W\cdot C_i+b=\sum_h W_h\,C_{i,h}+b",
        "Devlin et al. 2019, BERT, §4.4",
        _ARXIV + "1810.04805",
    ),
    "tag_probability": Number(
        r"p(c\mid t)=\mathrm{softmax}\left(W h_t+b\right)_c,\quad t=\text{first token of the word}",
        "Devlin et al. 2019, BERT, §5.3",
        _ARXIV + "1810.04805",
    ),
    "start_end": Number(
        (
            r"P_i=\frac{e^{S\cdot T_i}}{\sum_j e^{S\cdot T_j}}\qquad Q_i=\frac{e^{E\cdot T_i}}{\sum_j e^{E\cdot "
            r"T_j}}"
        ),
        "Devlin et al. 2019, BERT, §4.2",
        _ARXIV + "1810.04805",
    ),
    "span_score": Number(
        r"s_{ij}=S\cdot T_i+E\cdot T_j,\quad i\le j",
        "Devlin et al. 2019, BERT, §4.2",
        _ARXIV + "1810.04805",
    ),
    "answer_probability": Number(
        r"p_k=\frac{e^{s_k}}{e^{s_{\text{null}}}+\sum_{n=1}^{20}e^{s_n}}",
        "google-research/bert, run_squad.py (n_best_size = 20)",
        "https://github.com/google-research/bert/blob/master/run_squad.py",
    ),
    "no_answer": Number(
        r"s_{\text{null}}=\min_{\text{windows}}\left(S\cdot C+E\cdot C\right)",
        "Devlin et al. 2019, BERT, §4.3",
        _ARXIV + "1810.04805",
    ),
    "tau": Number(
        (
            r"\text{answer}\iff \hat s_{ij}>s_{\text{null}}+\tau'\iff s_{\text{null}}-\hat s_{ij}<\tau\quad(\tau=-"
            r"\tau')"
        ),
        "Devlin et al. 2019, BERT, §4.3",
        _ARXIV + "1810.04805",
    ),
    "head_effect": Number(
        r"\Delta=\ln\frac{p'}{1-p'}-\ln\frac{p}{1-p}\qquad p':\ \text{with the head's output set to }0",
        "Michel et al. 2019, Are Sixteen Heads Really Better than One?, §2.2",
        _ARXIV + "1905.10650",
    ),
    "word_effect": Number(
        r"\Delta_w=\ln\frac{p}{1-p}-\ln\frac{p_{\setminus w}}{1-p_{\setminus w}}",
        "Li et al. 2016, Understanding Neural Networks through Representation Erasure, §3",
        _ARXIV + "1612.08220",
    ),
    "word_effect_value": Number(
        r"\Delta_w=v-v_{\setminus w}",
        "Li et al. 2016, Understanding Neural Networks through Representation Erasure, §3",
        _ARXIV + "1612.08220",
    ),
    "patch_effect": Number(
        r"\Delta=\operatorname{logit}p\left(h_t\leftarrow\tilde h_t\right)-\operatorname{logit}p",
        "Vig et al. 2020, Investigating Gender Bias ... Causal Mediation Analysis, §3",
        _ARXIV + "2004.12265",
    ),
    "cka": Number(
        (
            r"\mathrm{CKA}(X,Y)=\frac{\lVert Y^\top X\rVert_F^2}{\lVert X^\top X\rVert_F\,\lVert Y^\top Y\rVert_F}"
            r"\quad(X,Y\text{ centred})"
        ),
        "Kornblith et al. 2019, Similarity of Neural Network Representations Revisited, §3",
        _ARXIV + "1905.00414",
    ),
    "cosine_distance": Number(
        r"d_t=1-\frac{h_t\cdot h'_t}{\lVert h_t\rVert\,\lVert h'_t\rVert}",
        "Ethayarajh 2019, How Contextual are Contextualized Word Representations?, §3",
        _ARXIV + "1909.00512",
    ),
    "sentence_cosine": Number(
        r"\cos(u,v)=\frac{u\cdot v}{\lVert u\rVert\,\lVert v\rVert},\qquad u=\frac{1}{T}\sum_{t}h_t",
        "Reimers & Gurevych 2019, Sentence-BERT, §3",
        _ARXIV + "1908.10084",
    ),
    "cluster": Number(
        r"d(a,b)=\max\left(\mathrm{core}_k(a),\;\mathrm{core}_k(b),\;\lVert a-b\rVert\right)",
        "Campello et al. 2013, Density-Based Clustering Based on Hierarchical Density Estimates, §3",
        "https://doi.org/10.1007/978-3-642-37456-2_14",
    ),
    "cluster_words": Number(
        r"W_{w,c}=\mathrm{tf}_{w,c}\cdot\log\left(1+\frac{A}{f_w}\right)",
        "Grootendorst 2022, BERTopic, §3.3",
        _ARXIV + "2203.05794",
    ),
    "map_tsne": Number(
        (
            r"\min_{y}\sum_{i\ne j}p_{ij}\log\frac{p_{ij}}{q_{ij}},\quad q_{ij}\propto"
            r"\left(1+\lVert y_i-y_j\rVert^2\right)^{-1}"
        ),
        "van der Maaten & Hinton 2008, Visualizing Data using t-SNE, §3",
        "https://www.jmlr.org/papers/v9/vandermaaten08a.html",
    ),
    "map_pca": Number(
        r"y_i=(x_i-\bar{x})\,[e_1,e_2],\qquad C\,e_k=\lambda_k e_k",
        "Jolliffe & Cadima 2016, Principal component analysis: a review",
        "https://doi.org/10.1098/rsta.2015.0202",
    ),
    "map_umap": Number(
        r"\min_{y}\sum_{i\ne j}v_{ij}\log\frac{v_{ij}}{w_{ij}}+(1-v_{ij})\log\frac{1-v_{ij}}{1-w_{ij}}",
        "McInnes et al. 2018, UMAP, §3",
        _ARXIV + "1802.03426",
    ),
    "centrality": Number(
        (
            r"r_i=\frac{1-d}{S}+d\sum_{j\ne i}\frac{w_{ij}}{\sum_{k\ne j}w_{kj}}\,r_j,\qquad "
            r"w_{ij}=\cos(v_i,v_j)-\min_{k,l}\cos(v_k,v_l)"
        ),
        "Erkan & Radev 2004, LexRank, §3.3",
        _ARXIV + "1109.2128",
    ),
    "summary_choice": Number(
        r"\arg\max_{i}\;(1-\lambda)\,c_i-\lambda\max_{j\in C}s_{ij}",
        "Carbonell & Goldstein 1998, The Use of MMR, §2",
        "https://doi.org/10.1145/290941.291025",
    ),
    "summary_score": Number(
        r"p_i=\sigma(w\cdot h_{[\mathrm{CLS}]_i}+b)",
        "Liu 2019, BERTSUM, §3.1",
        _ARXIV + "1903.10318",
    ),
    "trigram_blocking": Number(
        r"\mathrm{trigrams}(i)\cap\bigcup_{j\in C}\mathrm{trigrams}(j)=\varnothing",
        "Liu 2019, BERTSUM, §4.2",
        _ARXIV + "1903.10318",
    ),
    "rouge": Number(
        r"F_1=\frac{2\cdot\mathrm{common}(a,b)}{|a|+|b|}",
        "Lin 2004, ROUGE, §2–3",
        "https://aclanthology.org/W04-1013/",
    ),
    "masked_accuracy": Number(
        r"\frac{1}{|M|}\sum_{t\in M}\mathbf 1\left[\arg\max_w p(w\mid t)=w_t\right]",
        "Devlin et al. 2019, BERT, §3.1 and appendix A.1",
        _ARXIV + "1810.04805",
    ),
    "nsp_accuracy": Number(
        r"\frac{1}{N}\sum_n \mathbf 1\left[\hat y_n=y_n\right]",
        "Devlin et al. 2019, BERT, §3.1, task 2",
        _ARXIV + "1810.04805",
    ),
    "order_accuracy": Number(
        r"\frac{1}{N}\sum_n \mathbf 1\left[\hat y_n=y_n\right]",
        "Lan et al. 2020, ALBERT, §3.1",
        _ARXIV + "1909.11942",
    ),
    "replaced_precision": Number(
        r"\frac{|\{t:\hat y_t=y_t=1\}|}{|\{t:\hat y_t=1\}|},\quad y_t=1\text{ if token }t\text{ was replaced}",
        "Clark et al. 2020, ELECTRA, §2",
        _ARXIV + "2003.10555",
    ),
    "replaced_recall": Number(
        r"\frac{|\{t:\hat y_t=y_t=1\}|}{|\{t:y_t=1\}|},\quad y_t=1\text{ if token }t\text{ was replaced}",
        "Clark et al. 2020, ELECTRA, §2",
        _ARXIV + "2003.10555",
    ),
    "error": Number(
        r"\mathrm{MAE}=\frac{1}{N}\sum_n\left|\hat y_n-y_n\right|",
        "Willmott and Matsuura 2005, Advantages of the mean absolute error",
        "https://doi.org/10.3354/cr030079",
    ),
    "loss": Number(
        r"\mathcal L=-\frac{1}{|M|}\sum_{t\in M}\ln p(w_t\mid t)\;\left(-\frac1N\sum_n\ln p(y_n)\right)",
        "Devlin et al. 2019, BERT, appendix A.2",
        _ARXIV + "1810.04805",
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
        _ARXIV + "1606.05250",
    ),
    "f1": Number(
        r"F_1=\frac{2PR}{P+R},\quad P=\frac{|a\cap g|}{|a|},\;R=\frac{|a\cap g|}{|g|}",
        "Rajpurkar et al. 2016, SQuAD, §6.1",
        _ARXIV + "1606.05250",
    ),
    "rouge_w": Number(
        (
            r"F_1=\frac{2PR}{P+R},\quad P=\frac{|r|}{|a|},\;R=\frac{|r|}{|g|},\;r=\text{longest run of characters "
            r"in both}"
        ),
        "Park et al. 2021, KLUE, §3.7",
        _ARXIV + "2105.09680",
    ),
    "accuracy": Number(
        r"\frac{1}{N}\sum_n \mathbf 1\left[\hat y_n=y_n\right]",
        "Wang et al. 2019, GLUE, §3",
        _ARXIV + "1804.07461",
    ),
    "f1_class": Number(
        r"F_1=\frac{2\,TP}{2\,TP+FP+FN}",
        "Wang et al. 2019, GLUE, §3.2",
        _ARXIV + "1804.07461",
    ),
    "f1_entity": Number(
        r"F_1=\frac{2PR}{P+R}\quad\text{over whole entities: type, first and last word}",
        "Tjong Kim Sang and De Meulder 2003, CoNLL-2003 shared task, §2",
        "https://aclanthology.org/W03-0419/",
    ),
    "label_probability": Number(
        r"p(y\mid x)=\mathrm{softmax}\!\left(C W^{\top}\right)_{y},\qquad \text{loss}=-\ln p(y\mid x)",
        "Devlin et al. 2019, BERT, §4.1",
        _ARXIV + "1810.04805",
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
        _ARXIV + "1805.12471",
    ),
    "pearson": Number(
        r"r=\frac{\sum_n(x_n-\bar x)(y_n-\bar y)}{\sqrt{\sum_n(x_n-\bar x)^2}\sqrt{\sum_n(y_n-\bar y)^2}}",
        "Cer et al. 2017, SemEval task 1 (STS-B), §6",
        _ARXIV + "1708.00055",
    ),
    "spearman": Number(
        r"\rho=r\left(\mathrm{rank}(x),\mathrm{rank}(y)\right)",
        "Wang et al. 2019, GLUE, §3.2",
        _ARXIV + "1804.07461",
    ),
    "cost_parameters": Number(
        (
            r"N=\underbrace{VH+TH+2H}_{\text{embeddings}}+L\big(\underbrace{4H^2+4H}_{\text{attention}}+\underbrace{2HI"
            r"+H+I}_{\text{feed-forward}}+4H\big)+\dots"
        ),
        "Devlin et al. 2019, BERT, §3",
        _ARXIV + "1810.04805",
    ),
    "cost_flop": Number(
        r"F\approx 3\cdot L\cdot n\left(8H^2+4HI\right)+3\cdot\underbrace{L\cdot 4n^2H}_{\text{scores}}+\dots",
        "Kaplan et al. 2020, Scaling Laws for Neural Language Models, §2.1, table 1",
        _ARXIV + "2001.08361",
    ),
    "cost_memory": Number(
        (
            r"M=\underbrace{(4+2)N}_{\text{weights}}+\underbrace{(4+2)N}_{\text{gradients}}+\underbrace{(4+4)N}_{"
            r"\text{Adam}}+\text{activations}"
        ),
        "Rajbhandari et al. 2020, ZeRO, §3.1",
        _ARXIV + "1910.02054",
    ),
    "cost_activations": Number(
        r"A\approx L\left(Bn\,(8H+2I)\,b+\underbrace{B\,a\,n^2\,b}_{\text{if the scores are stored}}\right)",
        "Korthikanti et al. 2022, Reducing Activation Recomputation, §4",
        _ARXIV + "2205.05198",
    ),
    "cost_time": Number(
        r"t=\frac{\text{steps}\cdot F}{\text{share}\cdot\text{peak}}\qquad \text{price}=t\cdot\text{price per hour}",
        "Chowdhery et al. 2022, PaLM, §4.1 (model FLOPs utilization)",
        _ARXIV + "2204.02311",
    ),
}
