"""Formulas of effects, similarities, clusters and summaries, which are computed from predictions and vectors."""

from bertlab_app.explanations.number import ARXIV, Number

# key of a value -> its formula, its source and the URL of the source
ANALYSES: dict[str, Number] = {
    "head_effect": Number(
        r"\Delta=\ln\frac{p'}{1-p'}-\ln\frac{p}{1-p}\qquad p':\ \text{with the head's output set to }0",
        "Michel et al. 2019, Are Sixteen Heads Really Better than One?, §2.2",
        ARXIV + "1905.10650",
    ),
    "word_effect": Number(
        r"\Delta_w=\ln\frac{p}{1-p}-\ln\frac{p_{\setminus w}}{1-p_{\setminus w}}",
        "Li et al. 2016, Understanding Neural Networks through Representation Erasure, §3",
        ARXIV + "1612.08220",
    ),
    "word_effect_value": Number(
        r"\Delta_w=v-v_{\setminus w}",
        "Li et al. 2016, Understanding Neural Networks through Representation Erasure, §3",
        ARXIV + "1612.08220",
    ),
    "patch_effect": Number(
        r"\Delta=\operatorname{logit}p\left(h_t\leftarrow\tilde h_t\right)-\operatorname{logit}p",
        "Vig et al. 2020, Investigating Gender Bias ... Causal Mediation Analysis, §3",
        ARXIV + "2004.12265",
    ),
    "cka": Number(
        (
            r"\mathrm{CKA}(X,Y)=\frac{\lVert Y^\top X\rVert_F^2}{\lVert X^\top X\rVert_F\,\lVert Y^\top Y\rVert_F}"
            r"\quad(X,Y\text{ centred})"
        ),
        "Kornblith et al. 2019, Similarity of Neural Network Representations Revisited, §3",
        ARXIV + "1905.00414",
    ),
    "cosine_distance": Number(
        r"d_t=1-\frac{h_t\cdot h'_t}{\lVert h_t\rVert\,\lVert h'_t\rVert}",
        "Ethayarajh 2019, How Contextual are Contextualized Word Representations?, §3",
        ARXIV + "1909.00512",
    ),
    "sentence_cosine": Number(
        r"\cos(u,v)=\frac{u\cdot v}{\lVert u\rVert\,\lVert v\rVert},\qquad u=\frac{1}{T}\sum_{t}h_t",
        "Reimers & Gurevych 2019, Sentence-BERT, §3",
        ARXIV + "1908.10084",
    ),
    "cluster": Number(
        r"d(a,b)=\max\left(\mathrm{core}_k(a),\;\mathrm{core}_k(b),\;\lVert a-b\rVert\right)",
        "Campello et al. 2013, Density-Based Clustering Based on Hierarchical Density Estimates, §3",
        "https://doi.org/10.1007/978-3-642-37456-2_14",
    ),
    "cluster_words": Number(
        r"W_{w,c}=\mathrm{tf}_{w,c}\cdot\log\left(1+\frac{A}{f_w}\right)",
        "Grootendorst 2022, BERTopic, §3.3",
        ARXIV + "2203.05794",
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
        ARXIV + "1802.03426",
    ),
    "centrality": Number(
        (
            r"r_i=\frac{1-d}{S}+d\sum_{j\ne i}\frac{w_{ij}}{\sum_{k\ne j}w_{kj}}\,r_j,\qquad "
            r"w_{ij}=\cos(v_i,v_j)-\min_{k,l}\cos(v_k,v_l)"
        ),
        "Erkan & Radev 2004, LexRank, §3.3",
        ARXIV + "1109.2128",
    ),
    "summary_choice": Number(
        r"\arg\max_{i}\;(1-\lambda)\,c_i-\lambda\max_{j\in C}s_{ij}",
        "Carbonell & Goldstein 1998, The Use of MMR, §2",
        "https://doi.org/10.1145/290941.291025",
    ),
    "summary_score": Number(
        r"p_i=\sigma(w\cdot h_{[\mathrm{CLS}]_i}+b)",
        "Liu 2019, BERTSUM, §3.1",
        ARXIV + "1903.10318",
    ),
    "trigram_blocking": Number(
        r"\mathrm{trigrams}(i)\cap\bigcup_{j\in C}\mathrm{trigrams}(j)=\varnothing",
        "Liu 2019, BERTSUM, §4.2",
        ARXIV + "1903.10318",
    ),
}
