figure-split-test = test set
figure-split-dev = dev set
figure-split-validation = bertlab, validation rows
