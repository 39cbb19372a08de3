"""Formulas of the vectors, attention weights and probabilities that a model computes."""

from bertlab_app.explanations.number import ARXIV, Number

# key of a value -> its formula, its source and the URL of the source
MODEL: dict[str, Number] = {
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
        ARXIV + "1810.04805",
    ),
    "attention": Number(
        (
            r"\alpha_{ij}=\frac{\exp\left(q_i\cdot k_j/\sqrt{d}\right)}{\sum_{t}\exp\left(q_i\cdot k_t/\sqrt{d}"
            r"\right)}"
        ),
        "Vaswani et al. 2017, Attention Is All You Need, §3.2.1",
        ARXIV + "1706.03762",
    ),
    "attention_score": Number(
        r"s_{ij}=\frac{q_i\cdot k_j}{\sqrt{d}}",
        "Vaswani et al. 2017, Attention Is All You Need, §3.2.1",
        ARXIV + "1706.03762",
    ),
    "head_output": Number(
        r"o^{(n)}_i=\sum_j\alpha_{ij}v_j\qquad a_i=W_O\,[o^{(1)}_i;\dots;o^{(N)}_i]+b_O",
        "Vaswani et al. 2017, Attention Is All You Need, §3.2.2",
        ARXIV + "1706.03762",
    ),
    "residual": Number(
        r"\mathrm{LayerNorm}(x+f(x)),\quad\mathrm{LayerNorm}(z)=\gamma\odot\frac{z-\mu_z}{\sigma_z}+\beta",
        "Vaswani et al. 2017, Attention Is All You Need, §3.1; Ba et al. 2016, Layer Normalization, §3",
        ARXIV + "1607.06450",
    ),
    "feed_forward": Number(
        r"\mathrm{FFN}(x)=W_2\,\mathrm{GELU}(W_1x+b_1)+b_2",
        "Vaswani et al. 2017, Attention Is All You Need, §3.3; Devlin et al. 2019, appendix A.2 (GELU)",
        ARXIV + "1706.03762",
    ),
    "attention_mass": Number(
        r"m(A\to B)=\frac{1}{|A|}\sum_{i\in A}\sum_{j\in B}\alpha_{ij}\qquad\text{uniform: }\frac{|B|}{T}",
        "Clark et al. 2019, What Does BERT Look At? §3.2",
        ARXIV + "1906.04341",
    ),
    "entropy": Number(
        r"H_i=-\sum_j \alpha_{ij}\log_2\alpha_{ij}",
        "Clark et al. 2019, What Does BERT Look At? §3.3",
        ARXIV + "1906.04341",
    ),
    "attention_difference": Number(
        r"\Delta_{ij}=\alpha^{(2)}_{ij}-\alpha^{(1)}_{ij}",
        "Kovaleva et al. 2019, Revealing the Dark Secrets of BERT, §4.3",
        ARXIV + "1908.08593",
    ),
    "js_distance": Number(
        (
            r"\pm\frac1T\sum_i\sqrt{\mathrm{JS}_2\left(\alpha^{(1)}_i,\alpha^{(2)}_i\right)},\quad\mathrm{JS}_2(p,"
            r"q)=\tfrac12\mathrm{KL}\left(p\,\Vert\,m\right)+\tfrac12\mathrm{KL}\left(q\,\Vert\,m\right),\;m="
            r"\tfrac{p+q}{2}"
        ),
        "Clark et al. 2019, What Does BERT Look At?, §6 (the divergence)",
        ARXIV + "1906.04341",
    ),
    "rollout": Number(
        r"\tilde A^{(l)}=\tfrac12\left(\bar A^{(l)}+I\right)\tilde A^{(l-1)}",
        "Abnar and Zuidema 2020, Quantifying Attention Flow, §3",
        ARXIV + "2005.00928",
    ),
    "mask_probability": Number(
        (
            r"p(w\mid t)=\frac{\exp\left(e_w\cdot g(h_t)+b_w\right)}{\sum_{v\in V}\exp\left(e_v\cdot g(h_t)+b_v"
            r"\right)}"
        ),
        "Devlin et al. 2019, BERT, §3.1, task 1",
        ARXIV + "1810.04805",
    ),
    "mask_shares": Number(
        r"w_t\;\to\;\text{[MASK]}\;(80\,\%)\quad w\sim\mathrm{Uniform}(V)\;(10\,\%)\quad w_t\;(10\,\%)",
        "Devlin et al. 2019, BERT, §3.1, task 1, and appendices A.1 and C.2",
        ARXIV + "1810.04805",
    ),
    "token_loss": Number(
        r"\ell_t=-\ln p(w_t\mid t)",
        "Devlin et al. 2019, BERT, §3.1, task 1",
        ARXIV + "1810.04805",
    ),
    "word_surprise": Number(
        r"s(w)=-\sum_{k}\ln p\left(w_k\mid \text{text without }w_k,w_{k+1},\dots\right)",
        "Salazar et al. 2020, Masked Language Model Scoring, §2.2; Kauf and Ivanova 2023, §3 (later tokens masked too)",
        ARXIV + "2305.10588",
    ),
    "pseudo_log_likelihood": Number(
        r"\mathrm{PLL}=-\sum_w s(w),\qquad \mathrm{PPPL}=\exp\left(-\frac{\mathrm{PLL}}{\text{tokens}}\right)",
        "Salazar et al. 2020, Masked Language Model Scoring, §2.2 and §2.3",
        ARXIV + "1910.14659",
    ),
    "correction_gain": Number(
        r"\Delta=\mathrm{PLL}(\text{changed text})-\mathrm{PLL}(\text{text})>m",
        "Salazar et al. 2020, Masked Language Model Scoring, §3 (rescoring candidates)",
        ARXIV + "1910.14659",
    ),
    "pretraining_loss": Number(
        (
            r"\mathcal L=\underbrace{-\frac{1}{|M|}\sum_{t\in M}\ln p(w_t\mid t)}_{\text{MLM}}"
            r"\;\underbrace{-\ln p(y\mid A,B)}_{\text{NSP or SOP}}"
        ),
        "Devlin et al. 2019, BERT, appendix A.2; SOP: Lan et al. 2020, ALBERT, §3.1",
        ARXIV + "1810.04805",
    ),
    "tokens_per_word": Number(
        r"\frac{\text{tokens}}{\text{words}}",
        "Rust et al. 2021, How Good is Your Tokenizer?, §4 (fertility)",
        ARXIV + "2012.15613",
    ),
    "position_similarity": Number(
        r"\cos(p_i,p_j)=\frac{p_i\cdot p_j}{\lVert p_i\rVert\,\lVert p_j\rVert}",
        "Wang and Chen 2020, What Do Position Embeddings Learn?, §4",
        ARXIV + "2010.04903",
    ),
    "sinusoid": Number(
        r"p_{i,2k}=\sin\frac{i}{10000^{2k/H}},\quad p_{i,2k+1}=\cos\frac{i}{10000^{2k/H}}",
        "Vaswani et al. 2017, Attention Is All You Need, §3.5",
        ARXIV + "1706.03762",
    ),
    "nsp_probability": Number(
        r"p(\text{IsNext})=\mathrm{softmax}\left(W\tanh(W_p h_{[\mathrm{CLS}]}+b_p)+b\right)_0",
        "Devlin et al. 2019, BERT, §3.1, task 2",
        ARXIV + "1810.04805",
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
        ARXIV + "1902.04094",
    ),
    "class_probability": Number(
        r"p(c)=\mathrm{softmax}\left(W\,h_{\text{pooled}}+b\right)_c",
        "Devlin et al. 2019, BERT, §4.1",
        ARXIV + "1810.04805",
    ),
    "choice_probability": Number(
        r"p_i=\frac{e^{s_i}}{\sum_j e^{s_j}}",
        "Devlin et al. 2019, BERT, §4.4",
        ARXIV + "1810.04805",
    ),
    "choice_score": Number(
        r"s_i=W\cdot C_i+b=\sum_h W_h\,C_{i,h}+b",
        "Devlin et al. 2019, BERT, §4.4",
        ARXIV + "1810.04805",
    ),
    "tag_probability": Number(
        r"p(c\mid t)=\mathrm{softmax}\left(W h_t+b\right)_c,\quad t=\text{first token of the word}",
        "Devlin et al. 2019, BERT, §5.3",
        ARXIV + "1810.04805",
    ),
    "start_end": Number(
        (
            r"P_i=\frac{e^{S\cdot T_i}}{\sum_j e^{S\cdot T_j}}\qquad Q_i=\frac{e^{E\cdot T_i}}{\sum_j e^{E\cdot "
            r"T_j}}"
        ),
        "Devlin et al. 2019, BERT, §4.2",
        ARXIV + "1810.04805",
    ),
    "span_score": Number(
        r"s_{ij}=S\cdot T_i+E\cdot T_j,\quad i\le j",
        "Devlin et al. 2019, BERT, §4.2",
        ARXIV + "1810.04805",
    ),
    "answer_probability": Number(
        r"p_k=\frac{e^{s_k}}{e^{s_{\text{null}}}+\sum_{n=1}^{20}e^{s_n}}",
        "google-research/bert, run_squad.py (n_best_size = 20)",
        "https://github.com/google-research/bert/blob/master/run_squad.py",
    ),
    "no_answer": Number(
        r"s_{\text{null}}=\min_{\text{windows}}\left(S\cdot C+E\cdot C\right)",
        "Devlin et al. 2019, BERT, §4.3",
        ARXIV + "1810.04805",
    ),
    "tau": Number(
        (
            r"\text{answer}\iff \hat s_{ij}>s_{\text{null}}+\tau'\iff s_{\text{null}}-\hat s_{ij}<\tau\quad(\tau=-"
            r"\tau')"
        ),
        "Devlin et al. 2019, BERT, §4.3",
        ARXIV + "1810.04805",
    ),
}
